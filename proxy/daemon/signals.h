// Signals as events of a loop: read from a signalfd, so a handler is ordinary code on an ordinary stack.
// Call order: block_signals() in main before any thread exists (they inherit the mask), then Signals on the main loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

// SIGHUP, SIGUSR1, SIGTERM and SIGINT wait for Signals from here on; SIGPIPE is ignored, and SIGXFSZ.
void block_signals();

class Signals {
 public:
  using Handler = std::function<void(int number)>;
  Signals(EventLoop& loop, Handler handler);  // throws std::system_error where the kernel gives no signalfd

 private:
  void on_readable();
  Handler handler_;
  UniqueFd fd_;
  Event event_;
};

}  // namespace bloomwall::proxy
