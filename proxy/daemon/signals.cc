// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace bloomwall::proxy {
namespace {

sigset_t ours() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGHUP, SIGUSR1, SIGTERM, SIGINT}) ::sigaddset(&set, number);
  return set;
}

}  // namespace

void block_signals() {
  const sigset_t set = ours();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  for (const int number : {SIGPIPE, SIGXFSZ}) ::sigaction(number, &ignore, nullptr);
}

Signals::Signals(EventLoop& loop, Handler handler) : handler_(std::move(handler)) {
  const sigset_t set = ours();
  fd_.reset(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_) throw std::system_error(errno, std::generic_category(), "signalfd");
  event_.assign(
      loop.base(), fd_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Signals*>(self)->on_readable(); }, this);
  event_.arm();
}

void Signals::on_readable() {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    handler_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace bloomwall::proxy
