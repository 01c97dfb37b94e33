// Clients that are slow, broken or gone, and everybody else who must not notice.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using Client = ProxyTest;
using proxy::ErrorKind;

TEST_F(Client, ASlowHeadGets408) {
  given.settings.timeouts.request_header = 200ms;
  auto client = new_client("GET http://127.0.0.1/ HTTP/1.1\r\nX: ");
  EXPECT_EQ(status_of(client.read_head()), 408);
  client.read_to_end();
}

TEST_F(Client, AnIdleConnectionIsClosedInItsTime) {
  given.settings.timeouts.idle = 200ms;
  auto [client, server, asked] = exchange();
  answer(server, client, "x");
  client.expect_end();
  server.expect_end();
  EXPECT_EQ(counter(&Counters::client_idle_timeouts_total), 1U);
}

// Octets that nobody read would make the kernel reset the connection, and what it has still to deliver would be lost.
TEST_F(Client, TheLastAnswerArrivesWholeWhateverTheClientSaysBehindItsRequest) {
  const std::string old = "GET http://" + origin.authority() + "/ HTTP/1.0\r\n\r\n";
  const std::string blob(std::size_t{4} << 20, 'b');
  for (const std::string& first : {get_origin("/", "Connection: close\r\n"), old}) {
    auto [client, server, asked] = exchange(first);
    server.send("HTTP/1.1 200 OK\r\n" + length_field(blob.size()) + "\r\n");
    client.read_head();
    client.send(get_origin("/behind"));
    std::jthread sender([&] { server.send(blob); });
    EXPECT_TRUE(client.read_exactly(blob.size()) == blob);
    client.expect_end();
  }
}

TEST_F(Client, OneThatNeverReadsIsCutOff) {
  given.settings.timeouts.body = 300ms;
  auto [client, server, asked] = exchange();
  bool cut_off = false;
  std::jthread sender([&] {
    try {
      server.send(ok(std::string(64 << 20, 'z')));
    } catch (const std::exception&) {
      cut_off = true;
    }
  });
  wait_for_counter(&Counters::client_connections_active, 0);
  sender.join();
  EXPECT_TRUE(cut_off);
  EXPECT_EQ(errors(ErrorKind::client_stalled), 1U);
  expect_alive();
}

// What it says behind its last request is dropped, and keeps it here no longer, however busy it is.
TEST_F(Client, OneThatTalksAndNeverReadsItsLastAnswerIsCutOff) {
  given.settings.timeouts.idle = 300ms;
  given.settings.limits.least_rate = 0;
  auto [client, server, asked] = exchange(get_origin("/", "Connection: close\r\n"));
  client.send("x");
  std::jthread sender([&] {
    try {
      server.send(ok(std::string(400'000, 'z')));  // more than the client's kernel takes, no more than the proxy's
    } catch (const std::exception&) {              // cut off
    }
  });
  bool is_gone = false;
  try {
    for (int i = 0; i < 160 && !is_gone; ++i) {
      client.send("x");
      origin.nobody_comes_for(50ms);  // its pace
      is_gone = counter(&Counters::client_connections_active) == 0;
    }
  } catch (const std::exception&) {
    is_gone = true;
  }
  EXPECT_TRUE(is_gone);
}

// Its origin is, in the middle of an answer: the cut is seen, and told as the origin's.
TEST_F(Client, IsCutOffFromAnOriginThatStandsStill) {
  given.settings.timeouts.body = 200ms;
  auto [client, server, asked] = exchange();
  server.send("HTTP/1.1 200 OK\r\n\r\nhalf");  // as long as it lasts: chunked for the client
  client.read_head();
  EXPECT_THROW(client.read_chunked(), std::runtime_error) << "it must not look whole";
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(errors(ErrorKind::upstream_timeout), 1U);
}

TEST_F(Client, OneThatAsksAndNeverReadsFillsNoMemory) {
  given.list = "blocked.test\n";
  auto client = new_client();
  const std::string one = get("blocked.test", "/" + std::string(200, 'p'));
  std::string many;
  for (int i = 0; i < 200; ++i) many += one;
  // As much as goes in without an answer being read.
  const auto until = std::chrono::steady_clock::now() + 500ms;
  std::uint64_t peak = 0;
  while (std::chrono::steady_clock::now() < until) {
    if (::send(client.fd(), many.data(), many.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) std::this_thread::yield();
    peak = std::max(peak, the_proxy().gauges().buffer_bytes);
  }
  EXPECT_LT(peak, 1u << 20);
  expect_alive();
}

TEST_F(Client, ABrokenRequestIsAnsweredAndNothingAfterItIsBelieved) {
  auto client =
      new_client("GET http://" + origin.authority() + "/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + get_origin("/smug"));
  EXPECT_EQ(status_of(client.read_head()), 400);
  EXPECT_EQ(client.read_to_end().find("HTTP/1.1"), std::string::npos);
  EXPECT_TRUE(origin.nobody_comes_for(20ms));
}

TEST_F(Client, ABadChunkIsNotCompletedAtTheOrigin) {
  auto [client, server, asked] = exchange(post_origin("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n"));
  server.expect("5\r\nhello\r\n");
  client.send("zz\r\n0\r\n\r\n");
  EXPECT_EQ(status_of(client.read_head()), 400);
  server.expect_end();
}

TEST_F(Client, TheBodyOfADeniedRequestIsNoRequest) {
  given.list = "blocked.test\n";
  const std::string inner = get_origin("/smug");
  auto client =
      new_client(request("POST", at("blocked.test"), "/", length_field(inner.size()), inner) + get_origin("/next"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  auto server = origin.accept();
  EXPECT_TRUE(server.read_head().starts_with("GET /next ")) << "drained, and the connection goes on";
}

TEST_F(Client, ALargeBodyOfADeniedRequestEndsTheConnection) {
  given.list = "blocked.test\n";
  auto client = new_client(request("POST", "blocked.test", "/", length_field(10'000'000), std::string(50'000, 'x')));
  EXPECT_EQ(status_of(client.read_head()), 403);
  client.read_to_end();
}

// What drips in is progress for ever.
TEST_F(Client, TheBodyOfADeniedRequestIsDroppedForABoundedTime) {
  given.list = "blocked.test\n";
  given.settings.timeouts.body = 400ms;
  auto client = new_client(request("POST", "blocked.test", "/", length_field(50'000)));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  bool is_over = false;
  while (!is_over && std::chrono::steady_clock::now() < end) {
    client.send("x");
    is_over = !client.is_quiet_for(20ms);
  }
  ASSERT_TRUE(is_over) << "it is read on";
  client.expect_end();
}

TEST_F(Client, OneThatVanishesLeavesNothingBehind) {
  {
    std::vector<ScriptedPeer> clients;
    for (int i = 0; i < 50; ++i) {
      clients.push_back(new_client(i % 2 == 0 ? get_origin() : "GET http://half"));
    }
    for (int i = 0; i < 25; ++i) origin.accept().read_head();
    for (auto& client : clients) client.reset();
  }
  wait_for_counter(&Counters::client_connections_active, 0);
  wait_for_counter(&Counters::upstream_connections_active, 0);
  EXPECT_EQ(the_proxy().gauges().buffer_bytes, 0u);
  expect_alive();
}

}  // namespace
}  // namespace bloomwall::test
