// Listening sockets that somebody else opened and keeps open, as a service manager does.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "proxy/io/listening_socket.h"
#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

class PassedSocket : public ::testing::Test {
 protected:
  HarnessOptions options(std::uint32_t workers) const {
    HarnessOptions options;
    options.passed = held_->fd.get();
    options.settings.listeners.front().address = held_->address.text();
    options.settings.workers = workers;
    return options;
  }
  const tl::expected<proxy::ListeningSocket, std::string> held_ =
      proxy::listen_on(*proxy::Endpoint::parse("127.0.0.1:0"));
};

std::chrono::microseconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

TEST_F(PassedSocket, IsServedByEveryWorker) {
  ProxyHarness proxy(options(3));
  EXPECT_EQ(proxy.port(), held_->address.port());
  for (int i = 0; i < 20; ++i) expect_alive(proxy);
}

TEST_F(PassedSocket, ThatNoListenerHasIsAnError) {
  HarnessOptions other = options(1);
  other.settings.listeners.front().address = "127.0.0.1:0";
  try {
    ProxyHarness proxy(std::move(other));
    FAIL() << "taken";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find(held_->address.text() + ", which no listener has"), std::string::npos)
        << error.what();
  }
}

TEST_F(PassedSocket, IsLeftAloneWhileWhatIsUnderWayEnds) {
  ProxyHarness proxy(options(1));
  ScriptedListener origin;
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()));
  auto far = origin.accept();
  EXPECT_EQ(status_of(tunnel.read_head()), 200);
  auto idle = proxy.client();
  proxy.wait_for_counter(&proxy::Counters::client_connections_active, 2);
  proxy.server().drain(kPatience);
  idle.expect_end();  // from here on nobody is accepted

  auto next = proxy.client();
  const auto before = processor_time();
  EXPECT_TRUE(next.is_quiet_for(std::chrono::milliseconds(400)));
  EXPECT_LT(processor_time() - before, std::chrono::milliseconds(100)) << "woken again and again for somebody else's";
  const proxy::UniqueFd accepted(::accept4(held_->fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(static_cast<bool>(accepted)) << "who waits is left to whoever comes next";
  tunnel.send("still");
  far.expect("still");
}

// accept() fails from then on, and the kernel goes on saying that it is ready.
TEST_F(PassedSocket, ThatSomebodyShutsDownIsNotSpunOn) {
  ProxyHarness proxy(options(1));
  ScriptedListener origin;
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()));
  auto far = origin.accept();
  EXPECT_EQ(status_of(tunnel.read_head()), 200);
  const auto before = processor_time();
  ASSERT_EQ(::shutdown(held_->fd.get(), SHUT_RDWR), 0);
  EXPECT_TRUE(tunnel.is_quiet_for(std::chrono::milliseconds(500)));
  EXPECT_LT(processor_time() - before, std::chrono::milliseconds(100));
  const std::uint64_t pauses = proxy.counter(&proxy::Counters::accept_pauses_total);
  EXPECT_GE(pauses, 1U);
  EXPECT_LE(pauses, 4U);
  tunnel.send("still");
  far.expect("still");
}

}  // namespace
}  // namespace bloomwall::test
