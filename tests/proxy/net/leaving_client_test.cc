// Clients that leave while something is under way for them: whoever resets is let go at once, whoever only ends its side
// is answered.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <string>
#include <thread>

#include "tests/proxy/net/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using proxy::ErrorKind;

class LeavingClient : public ProxyTest {
 protected:
  void expect_all_gone() {
    wait_for_counter(&Counters::client_connections_active, 0);
    wait_for_counter(&Counters::upstream_connections_active, 0);
    EXPECT_EQ(the_proxy().gauges().requests_in_flight, 0U);
    EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0U);
  }
};

// Far earlier than any time-out: those are a minute here.
TEST_F(LeavingClient, IsLetGoWhileItsAnswerIsAwaited) {
  auto [client, server, asked] = exchange();
  client.reset();
  server.expect_end();
  expect_all_gone();
  EXPECT_EQ(errors(ErrorKind::client_gone), 1U);
}

TEST_F(LeavingClient, IsLetGoWithItsNextRequestUnread) {
  auto [client, server, asked] = exchange(get_origin("/1") + get_origin("/2"));
  client.reset();
  server.expect_end();
  expect_all_gone();
}

TEST_F(LeavingClient, IsLetGoWhenItResetsAfterItHasEndedItsSide) {
  auto [client, server, asked] = exchange();
  client.shut_write();
  EXPECT_TRUE(server.is_quiet_for(100ms)) << "half closed, it still wants its answer";
  client.reset();
  server.expect_end();
  expect_all_gone();
}

TEST_F(LeavingClient, IsLetGoWhileItsUploadIsNotTaken) {
  auto [client, server, asked] = exchange(post_origin(length_field(64 << 20)));
  const std::string piece(1 << 20, 'u');
  const auto until = std::chrono::steady_clock::now() + 300ms;  // by then nothing more is taken
  while (std::chrono::steady_clock::now() < until) {
    if (::send(client.fd(), piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) std::this_thread::yield();
  }
  client.reset();
  expect_all_gone();
}

TEST_F(LeavingClient, IsLetGoInTheMiddleOfADownloadThatItDoesNotRead) {
  auto [client, server, asked] = exchange();
  std::jthread sender([&] {
    try {
      server.send(ok(std::string(64 << 20, 'z')));
    } catch (const std::exception&) {  // cut off, as it must be
    }
  });
  client.read_head();
  client.reset();
  expect_all_gone();
}

}  // namespace
}  // namespace bloomwall::test
