// The body of one HTTP/2 stream on its way out: what the peer's windows have not let go yet. Whoever fills it stops
// while there is more than kSendAhead, which is what a turn of the loop gathers anyway.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "proxy/http2/http2_connection.h"
#include "proxy/io/chain.h"

namespace bloomwall::proxy {

class Http2Outbox {
 public:
  static constexpr std::size_t kSendAhead = std::size_t{64} * 1024;  // octets

  explicit Http2Outbox(BufferPool& pool) : waiting_(pool) {}

  bool append(std::span<const char> octets) { return waiting_.append(octets); }  // false: there is no memory
  void end() { is_ended_ = true; }                                               // that was all
  bool is_ended() const { return is_ended_; }
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  std::size_t held() const { return waiting_.held(); }  // octets of the pool
  // What its source must wait for; then it is told once, by a supply() after which was_drained() is true.
  std::size_t backlog() const { return size() > kSendAhead ? size() : 0; }
  void expect_drain() { awaits_drain_ = awaits_drain_ || backlog() > 0; }
  bool was_drained() { return awaits_drain_ && backlog() == 0 && std::exchange(awaits_drain_, false); }

  Http2Connection::Stream::Supply supply(std::span<char> room) {
    std::size_t given = 0;
    while (given < room.size() && !waiting_.empty()) {
      const std::span<const char> piece = waiting_.front();
      const std::size_t size = std::min(piece.size(), room.size() - given);
      std::memcpy(room.data() + given, piece.data(), size);
      waiting_.consume(size);
      given += size;
    }
    return {given, is_ended_ && waiting_.empty()};
  }
  void clear() { waiting_.clear(); }

 private:
  Chain waiting_;
  bool is_ended_ = false;
  bool awaits_drain_ = false;
};

}  // namespace bloomwall::proxy
