// Gathers what one turn makes for one stream - a head, pieces of a body, an end - and sends it in one sendmsg.
// Body pieces are referenced, not copied, so flush() comes before the memory they lie in is used again; small ones are
// gathered in memory of its own. With chunked framing all pieces of a batch leave as one chunk: a sender of a thousand
// tiny chunks does not cost a thousand writes.
// One per direction and worker. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proxy/io/stream.h"

namespace bloomwall::proxy {

class Batch {
 public:
  // Pieces up to this size are copied; a batch can hold any number of them, as far as they come from one read.
  static constexpr std::size_t kSmallPiece = 1024;
  explicit Batch(std::size_t read_bytes) : copies_(read_bytes) {}

  std::string& head() { return head_; }  // appended to by whoever writes heads; leaves first
  std::string& tail() { return tail_; }  // leaves last: the last chunk
  void add_body(std::span<const char> piece, Stream& to, bool chunked);  // may flush where it is full
  void flush(Stream& to, bool chunked);
  void clear();  // drops what was gathered
  bool empty() const { return head_.empty() && tail_.empty() && body_bytes_ == 0; }

 private:
  static constexpr std::size_t kMaxPieces = 32;
  std::string head_, tail_;
  std::array<iovec, kMaxPieces> pieces_{};
  std::size_t count_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::vector<char> copies_;
  std::size_t copied_ = 0;
};

}  // namespace bloomwall::proxy
