// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/acceptor.h"

#include <linux/filter.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr int kPerTurn = 64;  // so that a flood of connections does not starve those that are there
constexpr Milliseconds kBackOff{200};
constexpr Milliseconds kFullAgain{60'000};

// Errors of accept(2) that concern the connection to be accepted, which is gone, and not the listening socket. The next
// call may succeed.
bool is_of_one_connection(int error) {
  switch (error) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:  // a firewall
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

// A connection that is made between the last accept() and close() would be reset. A client whose SYN is dropped sends
// it again after a second, and is refused then, or finds who listens next. Where the kernel takes no filter, all is as
// without it.
void refuse_handshakes(int listener) {
  constexpr std::uint32_t kFlags = 13, kSyn = 0x02, kAck = 0x10;  // of the TCP header, at which a filter begins
  std::array<sock_filter, 5> program{{{BPF_LD | BPF_B | BPF_ABS, 0, 0, kFlags},
                                      {BPF_ALU | BPF_AND | BPF_K, 0, 0, kSyn | kAck},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kSyn},
                                      {BPF_RET | BPF_K, 0, 0, 0},
                                      {BPF_RET | BPF_K, 0, 0, ~std::uint32_t{0}}}};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, Handler& handler, ListeningSocket socket, std::size_t index, std::string name)
    : loop_(loop),
      handler_(handler),
      socket_(std::move(socket)),
      name_(name.empty() ? socket_.address.text() : std::move(name)),
      index_(index),
      pause_(loop.timers(), [](void* self) { static_cast<Acceptor*>(self)->event_.arm(); }, this) {
  event_.assign(
      loop_.base(), socket_.fd.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Acceptor*>(self)->on_ready(); }, this);
}

void Acceptor::start() { event_.arm(); }

void Acceptor::on_ready() {
  for (int i = 0; i < kPerTurn && accept_one(); ++i) {
  }
}

bool Acceptor::accept_one() {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  UniqueFd fd(::accept4(socket_.fd.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) {
    handler_.on_accepted(std::move(fd), Endpoint::from(reinterpret_cast<const sockaddr*>(&peer)), *this);
    return true;
  }
  if (is_of_one_connection(errno)) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) pause(errno);
  return false;
}

// Out of descriptors or memory, or the socket has failed. It would stay ready, and the loop would spin.
void Acceptor::pause(int error) {
  event_.disarm();
  pause_.set(kBackOff);
  handler_.on_accept_paused();
  const Milliseconds now = monotonic_now();
  if (told_ != Milliseconds(0) && now - told_ < kFullAgain) return;
  told_ = now;
  log::warning("listener {}: {}; trying again every {} ms", name_, std::strerror(error), kBackOff.count());
}

void Acceptor::hold() {
  pause_.clear();
  event_.disarm();
}

void Acceptor::finish(bool has_taken_over) {
  if (!socket_.fd) return;
  const bool is_left = socket_.is_passed || has_taken_over;
  if (!is_left && socket_.path.empty()) refuse_handshakes(socket_.fd.get());
  for (int i = 0; !is_left && i < kListenBacklog && accept_one(); ++i) {
  }
  hold();
  socket_.fd.reset();
}

}  // namespace bloomwall::proxy
