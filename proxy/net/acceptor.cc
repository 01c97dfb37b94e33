// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/acceptor.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr int kPerTurn = 64;  // so that a flood of connections does not starve those that are there
constexpr Milliseconds kBackOff{200};
constexpr int kMostQueued = 4096;  // as many as the queue holds

bool is_out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, Handler& handler, ListeningSocket socket, std::size_t index)
    : loop_(loop),
      handler_(handler),
      socket_(std::move(socket)),
      name_(socket_.address.text()),
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
  if (is_out_of_resources(errno)) {
    log::warning("listener {}: {}; accepting again in {} ms", name_, std::strerror(errno), kBackOff.count());
    event_.disarm();
    pause_.set(kBackOff);
    return false;
  }
  // One that was reset while it waited is no reason to stop.
  return errno == ECONNABORTED || errno == EINTR || errno == EPROTO;
}

void Acceptor::finish() {
  pause_.clear();
  event_.disarm();
  for (int i = 0; !socket_.is_passed && i < kMostQueued && accept_one(); ++i) {
  }
  pause_.clear();
  event_.disarm();
  // The loop tells the kernel at its next turn. Closing forgets an interest only with the last descriptor of a socket, and
  // others hold this one: it would be told of its clients for ever, by a number that means something else by then.
  if (!socket_.is_passed) socket_.fd.reset();
}

}  // namespace bloomwall::proxy
