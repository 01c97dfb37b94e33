// The old process of an upgrade, as the new one sees it: the other end of the channel of successor.h.
// Order: say() any number of times, say_ready(), on_go, say_serving(), on_main. on_lost at any time before
// say_serving(): the old process has ended or does not want the upgrade any more, and nothing may be served.
// Thread: the loop's; tell() any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "proxy/api/metrics.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class Predecessor {
 public:
  struct Events {
    // `logins`: what the old process remembers of them (Server::share_logins()).
    std::function<void(const UpgradeCounts& before, UniqueFd logins)> on_go;
    std::function<void()> on_main;
    std::function<void()> on_lost;
  };
  Predecessor(EventLoop& loop, UniqueFd channel, Events events);
  Predecessor(const Predecessor&) = delete;
  Predecessor& operator=(const Predecessor&) = delete;

  void say(std::string_view text) const { tell(channel_.get(), text); }  // in one line
  void say_ready() const;
  void say_serving();  // from here on this process does not end with the old one
  bool is_main() const { return is_main_; }

  // say(), before there is a loop.
  static void tell(int channel, std::string_view text);

 private:
  void on_readable();
  ssize_t receive(char* buffer, std::size_t size);
  void on_line(std::string_view line);

  const Events events_;
  UniqueFd channel_;
  Event event_;
  std::string line_;
  UniqueFd memory_;  // came with what has been read
  bool is_serving_ = false, is_main_ = false;
};

}  // namespace bloomwall::proxy
