// Gathers what one turn of the loop produces for one transport (a head, body pieces, an end) and sends it with one
// call. Body pieces are referenced, not copied, so flush() must come before their memory is reused; small ones are
// copied into its own buffer. With chunked framing all pieces of one flush leave as one chunk, so a sender of a
// thousand tiny chunks does not cause a thousand writes.
//
// A GatheredWrite is a local variable: it borrows its memory from the worker for its scope, and drops unflushed octets
// at its end. So nothing that was gathered for one client or origin can reach another.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bloomwall::proxy {

class Transport;

// Memory for those that are open at one time: one a direction, and one for an answer of our own in between.
class GatherBuffers {
 public:
  explicit GatherBuffers(std::size_t read_bytes);  // the largest read
  ~GatherBuffers();
  GatherBuffers(const GatherBuffers&) = delete;
  GatherBuffers& operator=(const GatherBuffers&) = delete;

 private:
  friend class GatheredWrite;
  struct Buffer;
  std::unique_ptr<Buffer> take();
  void give(std::unique_ptr<Buffer> buffer);

  std::size_t read_bytes_;
  std::vector<std::unique_ptr<Buffer>> spare_;
};

class GatheredWrite {
 public:
  // Pieces up to this size are copied; there is room for any number of them, as far as they come from one read.
  static constexpr std::size_t kSmallPiece = 1024;

  explicit GatheredWrite(GatherBuffers& from);
  ~GatheredWrite();
  GatheredWrite(const GatheredWrite&) = delete;
  GatheredWrite& operator=(const GatheredWrite&) = delete;

  std::string& head();                         // the head to send; writers of heads append to it; it is sent first
  std::string& tail();                         // leaves last: the last chunk
  bool add_body(std::span<const char> piece);  // false: there is no room before the next flush()
  void flush(Transport& to, bool chunked);
  // What flush() would send, for one who takes it otherwise; clear() must follow.
  std::span<const iovec> assemble(bool chunked);
  void clear();  // drops what was gathered
  bool empty() const;

 private:
  GatherBuffers& from_;
  std::unique_ptr<GatherBuffers::Buffer> buffer_;
};

}  // namespace bloomwall::proxy
