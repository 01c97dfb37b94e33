// Pipes for splice(), which moves octets from socket to socket without a copy through user space. A transport borrows a
// pipe only while octets are in it: relays share a few large pipes, and idle relays hold none.
// Bounds: kMost pipes at one time, of which kMostIdle are kept for the next taker. A caller that gets none copies
// instead.
// Cost: a pop or push on a vector. Thread: one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {

class Pipe {
 public:
  Pipe() = default;
  explicit operator bool() const { return static_cast<bool>(in_); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Moves what the socket has, as much as fits, into the empty pipe: octets, 0 for its end, or -errno.
  ssize_t fill_from(int socket);
  // Moves octets on to the socket: how many, or -errno. May raise SIGPIPE, which a program that splices must ignore.
  ssize_t drain_to(int socket);

 private:
  friend class PipePool;
  UniqueFd in_, out_;
  std::size_t capacity_ = 0, size_ = 0;
};

class PipePool {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostIdle = 16;
  // As large as unprivileged users may have; what an unlucky one gets is still worth it down to kLeastBytes.
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 10;

  Pipe take();           // empty; none where the limit is reached or the kernel gives none
  void give(Pipe pipe);  // one that is not empty is closed, and with it what is in it
  std::size_t in_use() const { return in_use_; }

 private:
  static Pipe make();
  std::vector<Pipe> idle_;
  std::size_t in_use_ = 0;
};

}  // namespace bloomwall::proxy
