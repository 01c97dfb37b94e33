// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/endpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include "tests/support/scripted_peer.h"

namespace bloomwall::proxy {
namespace {

int option_of(int fd, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, option, &value, &size), 0);
  return value;
}

UniqueFd listening() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(::listen(fd.get(), 8), 0);
  return fd;
}

TEST(ListeningSocket, WhatIsAcceptedHasNoDelayWithoutBeingTold) {
  const auto listener = listen_on(*Endpoint::parse("127.0.0.1:0"));
  ASSERT_TRUE(listener.has_value()) << listener.error();
  const auto client = test::ScriptedPeer::connect(listener->address.port());
  const UniqueFd accepted(::accept4(listener->fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(static_cast<bool>(accepted));
  EXPECT_EQ(option_of(accepted.get(), IPPROTO_TCP, TCP_NODELAY), 1);
}

TEST(ListeningSocket, OneThatWasPassedIsMadeLikeOurs) {
  auto given = take_over(listening());
  ASSERT_TRUE(given.has_value()) << given.error();
  EXPECT_TRUE(given->is_passed);
  EXPECT_NE(given->address.port(), 0);
  EXPECT_NE(::fcntl(given->fd.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(::fcntl(given->fd.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(option_of(given->fd.get(), IPPROTO_TCP, TCP_NODELAY), 1);
  const auto second = share(*given);
  ASSERT_TRUE(second.has_value()) << second.error();
  EXPECT_TRUE(second->is_passed);
  EXPECT_EQ(second->address, given->address);
  const auto client = test::ScriptedPeer::connect(given->address.port());
  given->fd.reset();
  const UniqueFd accepted(::accept4(second->fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(accepted)) << "who waits is not lost when one of them closes";
}

TEST(ListeningSocket, WhatIsNoListeningTcpSocketIsRefused) {
  EXPECT_EQ(take_over(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC))).error(), "no TCP socket");
  EXPECT_EQ(take_over(UniqueFd()).error(), "no TCP socket");
  EXPECT_EQ(take_over(UniqueFd(::socket(AF_INET6, SOCK_DGRAM, 0))).error(), "no TCP socket");
  EXPECT_EQ(take_over(UniqueFd(::socket(AF_INET, SOCK_STREAM, 0))).error(), "a socket that does not listen");
  UniqueFd local(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;  // no path: the kernel gives it a name without a file
  ASSERT_EQ(::bind(local.get(), reinterpret_cast<sockaddr*>(&name), sizeof(sa_family_t)), 0);
  ASSERT_EQ(::listen(local.get(), 1), 0);
  EXPECT_EQ(take_over(std::move(local)).error(), "no TCP socket");
}

}  // namespace
}  // namespace bloomwall::proxy
