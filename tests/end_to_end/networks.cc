// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/networks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace bloomwall::test {

bool wait_until(const std::function<bool()>& holds, Seconds bound) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::string no_networks_here(const std::vector<std::string>& further_programs) {
  for (const char* program : {"unshare", "nsenter", "ip", "nft"}) {
    if (!have_program(program)) return std::string("needs ") + program;
  }
  for (const std::string& program : further_programs) {
    if (!have_program(program)) return "needs " + program;
  }
  if (::geteuid() != 0) return "needs root, to make network namespaces";
  return Namespace().apart() ? "" : "no network namespaces here";
}

Namespace::Namespace() : process_({"unshare", "-n", "sleep", "120"}) {
  const auto of = [](const std::string& pid) {
    std::error_code gone;
    return std::filesystem::read_symlink("/proc/" + pid + "/ns/net", gone);
  };
  apart_ = wait_until([&] { return (of(pid()) != of("self") && !of(pid()).empty()) || process_.wait(Seconds(0)); }) &&
           !process_.wait(Seconds(0));
}

std::vector<std::string> Namespace::inside(std::vector<std::string> argv) const {
  argv.insert(argv.begin(), {"nsenter", "-t", pid(), "-n"});
  return argv;
}

Finished Namespace::run(const std::vector<std::string>& argv, const std::string& input) const {
  return test::run(inside(argv), input, Seconds(20));
}

void Namespace::ip(const std::string& commands) const {
  const auto done = run({"ip", "-batch", "-"}, commands);
  ASSERT_EQ(done.status, 0) << commands << done.out;
}

void Namespace::enter() const {
  const int fd = ::open(("/proc/" + pid() + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
  const int failed = fd < 0 ? -1 : ::setns(fd, CLONE_NEWNET);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (failed != 0) throw std::system_error(error, std::generic_category(), "network namespace");
}

Link::Link(const Namespace& hub, std::string name, unsigned number)
    : hub_(hub), name_(std::move(name)), number_(number) {
  hub.ip("link add " + name_ + " type veth peer name " + name_ + " netns " + place_.pid() + "\n");
  for (const auto& [where, host] : {std::pair(&hub_, 1), std::pair(&std::as_const(place_), 2)}) {
    where->ip(fmt::format(R"(link set lo up
link set {0} gso_max_segs 1 up
addr add 10.{1}.0.{2}/24 dev {0}
addr add fd{1:02}::{2}/64 dev {0} nodad
route change 10.{1}.0.0/24 dev {0} rto_min 20ms
)",
                          name_, number_, host));
  }
  heal();
}

bool Link::set_rules(const std::string& rules) {
  // The first line is there so that there is always something to delete; all of it takes effect at once.
  const std::string script = fmt::format(R"(table inet {0}
delete table inet {0}
table inet {0} {{
  chain arriving {{
    type filter hook prerouting priority raw;
{1}
  }}
}}
)",
                                         name_, rules);
  for (const Namespace* end : {&hub_, &std::as_const(place_)}) {
    const auto done = end->run({"nft", "-f", "-"}, script);
    if (done.out.find("Error: Could not process rule") != std::string::npos) return false;
    EXPECT_EQ(done.status, 0) << script << done.out;
  }
  return true;
}

bool Link::lose(const std::vector<std::string>& matches) {
  std::string rules;
  for (const std::string& match : matches) rules += fmt::format("    iifname {} {} counter drop\n", name_, match);
  return set_rules(rules);
}

bool Link::lose_percent(unsigned percent) { return lose({"numgen random mod 100 < " + std::to_string(percent)}); }

void Link::heal() { set_rules(""); }

std::uint64_t Link::lost() const {
  std::uint64_t sum = 0;
  for (const Namespace* end : {&hub_, &std::as_const(place_)}) {
    const std::string rules = end->run({"nft", "list", "table", "inet", name_}).out;
    const std::string before = "counter packets ";
    for (auto at = rules.find(before); at != std::string::npos; at = rules.find(before, at)) {
      sum += std::stoull(rules.substr(at += before.size()));
    }
  }
  return sum;
}

}  // namespace bloomwall::test
