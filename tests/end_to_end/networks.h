// Networks of a test's own: namespaces with veth pairs between them, and packets that get lost on the way. Everything
// goes when its object does. Needs root, unshare, nsenter, ip and nft: no_networks_here() says what is missing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"

namespace bloomwall::test {

// For what gives no event to wait for: looks every few milliseconds.
bool wait_until(const std::function<bool()>& holds, Seconds bound = Seconds(10));

// Why they cannot be made, or which of these further programs is missing; empty: all is there.
std::string no_networks_here(const std::vector<std::string>& further_programs = {});

// Lives as long as the process that made it.
class Namespace {
 public:
  Namespace();
  bool apart() const { return apart_; }  // false: the kernel made none
  std::string pid() const { return std::to_string(process_.pid()); }
  std::vector<std::string> inside(std::vector<std::string> argv) const;  // the command that runs this one in here
  Finished run(const std::vector<std::string>& argv, const std::string& input = {}) const;
  void ip(const std::string& commands) const;  // one a line, without "ip"; fails the test where one fails

  // Calls `act` on a thread of its own in here. The sockets that it opens stay in here whoever uses them.
  template <class Act>
  auto within(Act act) const {
    return std::async(std::launch::async, [&] { return enter(), act(); }).get();
  }

 private:
  void enter() const;  // the calling thread, for good
  Process process_;
  bool apart_ = false;
};

// A place with a link to the hub: 10.N.0.2 and fdNN::2 there, 10.N.0.1 and fdNN::1 at the hub. No packet holds more
// than one segment, and one that was lost is sent again after 20 ms, so that losses are many and do not take long.
class Link {
 public:
  Link(const Namespace& hub, std::string name, unsigned number);  // `name` is the interface's, at both ends
  const Namespace& place() const { return place_; }
  std::string address() const { return "10." + std::to_string(number_) + ".0.2"; }
  std::string hub_address() const { return "10." + std::to_string(number_) + ".0.1"; }

  // From now on packets that one of these matches, in the words of nft, are lost on arrival at either end; "": every
  // one. False: the kernel does not take the rules.
  bool lose(const std::vector<std::string>& matches);
  bool lose_percent(unsigned percent);
  void heal();
  std::uint64_t lost() const;  // packets since then

 private:
  bool set_rules(const std::string& rules);
  const Namespace& hub_;
  Namespace place_;
  std::string name_;
  unsigned number_;
};

}  // namespace bloomwall::test
