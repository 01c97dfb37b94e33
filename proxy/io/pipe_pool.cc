// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/pipe_pool.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <utility>

namespace bloomwall::proxy {
namespace {

// Octets moved, or -errno.
ssize_t move_octets(int from, int to, std::size_t most) {
  for (;;) {
    const ssize_t moved = ::splice(from, nullptr, to, nullptr, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (moved >= 0) return moved;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

ssize_t Pipe::fill_from(int socket) {
  const ssize_t moved = move_octets(socket, in_.get(), capacity_);
  if (moved > 0) size_ += static_cast<std::size_t>(moved);
  return moved;
}

ssize_t Pipe::drain_to(int socket) {
  const ssize_t moved = move_octets(out_.get(), socket, size_);
  if (moved > 0) size_ -= static_cast<std::size_t>(moved);
  return moved;
}

Pipe PipePool::make() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return {};
  Pipe pipe;
  pipe.out_ = UniqueFd(ends[0]);
  pipe.in_ = UniqueFd(ends[1]);
  int capacity = ::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kBytes));
  if (capacity < 0) capacity = ::fcntl(ends[1], F_GETPIPE_SZ);  // this user has many pipes already
  if (capacity < static_cast<int>(kLeastBytes)) return {};
  pipe.capacity_ = static_cast<std::size_t>(capacity);
  return pipe;
}

Pipe PipePool::take() {
  if (in_use_ == kMost) return {};
  Pipe pipe;
  if (idle_.empty()) {
    pipe = make();
  } else {
    pipe = std::move(idle_.back());
    idle_.pop_back();
  }
  if (pipe) ++in_use_;
  return pipe;
}

void PipePool::give(Pipe pipe) {
  if (!pipe) return;
  --in_use_;
  if (pipe.empty() && idle_.size() < kMostIdle) idle_.push_back(std::move(pipe));
}

}  // namespace bloomwall::proxy
