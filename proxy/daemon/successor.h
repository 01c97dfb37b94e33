// The new process of an upgrade, as the old one sees it: a child that runs the installed program and gets descriptors
// of the old one's listening sockets (service_manager.h says how they are told). They talk by lines over a channel:
//   new                 old
//   text WORDS                          any number of times: what it is doing, or what is wrong
//   ready                               all is loaded and verified; nothing is served and nothing written yet
//                       go 3 1          serve; how many upgrades went well and failed before
//   serving                             clients are accepted
//                       (end)           the new process is the main one, and the old one drains
// Until then the new process is nobody's: its end, the end of the channel, or anything else that it says, is the end of
// the upgrade, and it is killed with its process group; it dies with the old one, too. What it prints to stderr
// meanwhile is kept as the reason.
// Bounds: lines of kMostLine octets, kMostLines of them, kMostWords octets of stderr.
// start(): some milliseconds, during which the loop stands still (fork without copying, and exec). Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class Successor final : public DeletedLater {
 public:
  static constexpr std::size_t kMostLine = 4096, kMostLines = 100'000, kMostWords = 4096;
  struct Passed {
    UniqueFd fd;
    const char* name;  // one of service_manager.h; a literal
  };
  struct Plan {
    std::vector<std::string> command;  // the program's path, and its arguments
    std::vector<Passed> sockets;
  };
  // Called on the loop; the owner must not delete the object in them, but hand it to the loop's deferred().
  struct Events {
    std::function<void(std::string_view line)> on_line;
    // It has ended, or has closed the channel and was killed, or was killed by kill(): why, in one line. Once. After
    // release(): its own end, of which the parent process of all learns, too.
    std::function<void(const std::string& why)> on_end;
  };
  // The error says what has failed: "/usr/bin/bloomwall: No such file or directory".
  static tl::expected<std::unique_ptr<Successor>, std::string> start(EventLoop& loop, Plan plan, Events events);
  ~Successor() override;  // kills it, unless it was released; waits two seconds at most
  Successor(const Successor&) = delete;
  Successor& operator=(const Successor&) = delete;

  // `memory`: a descriptor that goes with it; -1: none.
  void tell(std::string_view line, int memory = -1) const;
  void kill(std::string why);
  // Likewise, and its descriptors are gone when this returns: what the kernel would put into a queue of clients that it
  // still has open would be reset. The loop stands still for as long, two seconds at most.
  void kill_at_once(std::string why);
  void release();  // ends the channel
  pid_t pid() const { return pid_; }
  bool has_ended() const;
  std::vector<std::string> last_words() const;  // on stderr, one a line

 private:
  Successor(EventLoop& loop, Events events);
  void listen();
  void await_end() const;
  bool on_channel();  // false: there was nothing to read
  void on_words();
  void on_ended();
  void on_closed();
  std::string end_of_it() const;

  EventLoop& loop_;
  const Events events_;
  pid_t pid_ = -1;
  UniqueFd process_, channel_, words_;
  Event ended_event_, channel_event_, words_event_;
  Timer closed_;  // the channel was; its end is waited for, which says more
  std::string line_, said_;
  std::size_t lines_ = 0;
  std::string why_;  // it was killed
  bool is_released_ = false;
};

// The path by which this process's program was started, absolute: what is there later is the version that is installed
// then. Call it before the working directory changes.
std::filesystem::path own_program();

}  // namespace bloomwall::proxy
