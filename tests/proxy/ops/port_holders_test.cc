// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/port_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

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
  EXPECT_THAT(taken_addresses(settings), ElementsAre("admin.address: " + socket->address.text() + " is held by " +
                                                     own_name() + " (process " + std::to_string(::getpid()) + ")"));
  settings.admin.address.reset();
  EXPECT_THAT(taken_addresses(settings), IsEmpty());
  EXPECT_EQ(configured_addresses(settings).size(), 1U);
}

}  // namespace
}  // namespace bloomwall::proxy
