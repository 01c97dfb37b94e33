// SPDX-License-Identifier: Apache-2.0
#include "proxy/check/port_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "proxy/io/unix_socket.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string own_name() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

class PortHolders : public testing::TestWithParam<const char*> {};

TEST_P(PortHolders, TheProcessThatListensIsFound) {
  const auto socket = listen_on(*Endpoint::parse(GetParam()));
  ASSERT_TRUE(socket.has_value()) << socket.error();
  const auto holder = holder_of(socket->address);
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->pid, ::getpid());
  EXPECT_EQ(holder->program, own_name());
}

INSTANTIATE_TEST_SUITE_P(Addresses, PortHolders, testing::Values("127.0.0.1:0", "[::1]:0", ":0"));

TEST(PortHoldersOf, AWildcardHoldsEveryAddressAndAnotherAddressDoesNot) {
  const auto all = listen_on(*Endpoint::parse(":0"));
  ASSERT_TRUE(all.has_value()) << all.error();
  EXPECT_TRUE(holder_of(*Endpoint::parse_ip("127.0.0.1", all->address.port())).has_value());
  const auto one = listen_on(*Endpoint::parse("127.0.0.1:0"));
  ASSERT_TRUE(one.has_value()) << one.error();
  EXPECT_FALSE(holder_of(*Endpoint::parse_ip("127.0.0.77", one->address.port())).has_value());
}

TEST(PortHoldersOf, WhatNobodyHoldsIsFree) {
  std::uint16_t port = 0;
  {
    const auto closed = listen_on(*Endpoint::parse("127.0.0.1:0"));
    ASSERT_TRUE(closed.has_value()) << closed.error();
    port = closed->address.port();
  }
  EXPECT_FALSE(holder_of(*Endpoint::parse_ip("127.0.0.1", port)).has_value());
  EXPECT_FALSE(holder_of(*Endpoint::parse_ip("127.0.0.1", 0)).has_value());
}

TEST(PortHoldersOf, TheListenersOfAConfigurationAreNamedWithTheirHolder) {
  const auto socket = listen_on(*Endpoint::parse("127.0.0.1:0"));
  ASSERT_TRUE(socket.has_value()) << socket.error();
  conf::Config settings;
  settings.listeners[0].address = "127.0.0.1:0";
  settings.admin.address = socket->address.text();
  EXPECT_THAT(taken_addresses(settings, HeldBy::other_programs),
              ElementsAre("admin.address: " + socket->address.text() + " is held by " + own_name() + " (process " +
                          std::to_string(::getpid()) + ")"));
  settings.admin.address.reset();
  EXPECT_THAT(taken_addresses(settings, HeldBy::other_programs), IsEmpty());
  EXPECT_EQ(configured_addresses(settings).size(), 1U);
}

TEST(PortHoldersOf, ASocketAtAPathIsHeldByWhoListensThere) {
  const test::TempDir dir;
  const std::string path = (dir.path() / "door").string();
  EXPECT_FALSE(holder_of_path(path));
  conf::Config settings;
  settings.listeners.clear();
  settings.admin.address.reset();
  settings.answers.emplace_back().address = "unix:" + path;
  auto socket = listen_at(path, 8);
  ASSERT_TRUE(socket.has_value()) << socket.error();
  EXPECT_FALSE(holder_of_path(path + "2"));
  EXPECT_EQ(holder_of_path(path).value().pid, ::getpid());
  EXPECT_THAT(taken_addresses(settings, HeldBy::other_programs),
              ElementsAre("answers[0].address: unix:" + path + " is held by " + own_name() + " (process " +
                          std::to_string(::getpid()) + ")"));
  const UniqueFd connected = connect_to(path);  // has the same name, and does not listen
  socket->reset();
  EXPECT_FALSE(holder_of_path(path)) << "what is left of it is a file";
}

// Another process that calls itself bloomwall and listens where `socket` does; ends with the object.
class OtherBloomwall {
 public:
  explicit OtherBloomwall(ListeningSocket socket) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const UniqueFd from(ends[0]);
    UniqueFd into(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_NAME, "bloomwall");
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::write(into.get(), "", 1) == 1) ::pause();
      ::_exit(0);
    }
    socket.fd.reset();  // the other one has it
    char ready = 0;
    EXPECT_EQ(::read(from.get(), &ready, 1), 1);
  }
  ~OtherBloomwall() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherBloomwall(const OtherBloomwall&) = delete;
  OtherBloomwall& operator=(const OtherBloomwall&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(PortHoldersOf, AnotherBloomwallIsToldOfWhereAStartHasFailed) {
  auto socket = listen_on(*Endpoint::parse("127.0.0.1:0"));
  ASSERT_TRUE(socket.has_value()) << socket.error();
  conf::Config settings;
  settings.admin.address.reset();
  settings.listeners[0].address = socket->address.text();
  const OtherBloomwall other(*std::move(socket));
  EXPECT_THAT(taken_addresses(settings, HeldBy::other_programs), IsEmpty());
  EXPECT_THAT(taken_addresses(settings, HeldBy::other_processes),
              ElementsAre("listeners[0].address: " + settings.listeners[0].address + " is held by bloomwall (process " +
                          std::to_string(other.pid()) + ")"));
}

}  // namespace
}  // namespace bloomwall::proxy
