// Sockets of clients that were refused with an answer. They stay open for a moment, because closing a socket with
// unread octets sends RST, and that may destroy the answer before the client has read it. Bounded: the newest replaces
// the oldest.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class RefusedClients {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr Milliseconds kFor{1000};

  explicit RefusedClients(EventLoop& loop)
      : timer_(loop.timers(), [](void* self) { static_cast<RefusedClients*>(self)->sockets_ = {}; }, this) {}

  void tell(UniqueFd fd, std::string_view answer) {
    [[maybe_unused]] const auto sent = ::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    ::shutdown(fd.get(), SHUT_WR);
    sockets_[next_++ % kMost] = std::move(fd);
    timer_.set(kFor);
  }

 private:
  Timer timer_;
  std::array<UniqueFd, kMost> sockets_;
  std::size_t next_ = 0;
};

}  // namespace bloomwall::proxy
