// Bodies that move, but too slowly, in either direction.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using proxy::ErrorKind;

class SlowBody : public ProxyTest {
 protected:
  SlowBody() {
    given.settings.timeouts.body = 300ms;  // over which it is averaged
    given.settings.limits.least_rate = 1000;
  }
  // One octet every 20 ms, until the other side says something or goes. False: neither has happened after `most`.
  static bool drip(ScriptedPeer& to, ScriptedPeer& watched, const std::string& piece, int most = 300) {
    try {
      for (int i = 0; i < most; ++i) {
        to.send(piece);
        if (!watched.is_quiet_for(20ms)) return true;
      }
    } catch (const std::exception&) {
      return true;
    }
    return false;
  }
};

TEST_F(SlowBody, AnUploadIsCut) {
  auto [client, server, asked] = exchange(post_origin(length_field(100'000)));
  EXPECT_TRUE(drip(client, client, "x"));
  EXPECT_EQ(status_of(client.read_head()), 408);
  EXPECT_EQ(errors(ErrorKind::request_timeout), 1U);
}

TEST_F(SlowBody, ADownloadOfKnownLengthIsCut) {
  auto [client, server, asked] = exchange();
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
  client.read_head();
  EXPECT_TRUE(drip(server, server, "x"));
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(errors(ErrorKind::upstream_timeout), 1U);
}

// It takes something every time that it is looked at, and its origin would send much more.
TEST_F(SlowBody, ADownloadThatItsClientTakesTooSlowlyIsCut) {
  given.settings.timeouts.body = 1s;
  given.settings.limits.least_rate = std::uint64_t{1} << 30;
  auto [client, server, asked] = exchange();
  std::jthread sender([&] {
    try {
      server.send("HTTP/1.1 200 OK\r\n\r\n");  // of unknown length
      for (;;) server.send(std::string(1 << 20, 'z'));
    } catch (const std::exception&) {  // cut off, as it must be
    }
  });
  client.read_head();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool is_cut = false;
  try {
    while (std::chrono::steady_clock::now() < until) {
      client.read_exactly(400'000);
      origin.nobody_comes_for(10ms);  // its pace
    }
  } catch (const std::exception&) {
    is_cut = true;
  }
  EXPECT_TRUE(is_cut);
  wait_for_counter(&Counters::client_connections_active, 0);
  EXPECT_EQ(errors(ErrorKind::client_stalled), 1U);
}

// What comes behind the last answer is dropped, but not for ever, however busy its client is.
TEST_F(SlowBody, WhatComesBehindTheLastAnswerIsDroppedForAWhile) {
  given.list = "blocked.test\n";
  auto client = new_client(request("POST", "blocked.test", "/", length_field(10'000'000), "x"));
  EXPECT_EQ(status_of(read_answer(client).head), 403);
  client.expect_end();
  bool is_gone = false;
  try {
    for (int i = 0; i < 80 && !is_gone; ++i) {
      client.send("x");
      origin.nobody_comes_for(100ms);  // its pace
      is_gone = counter(&Counters::client_connections_active) == 0;
    }
  } catch (const std::exception&) {
    is_gone = true;
  }
  EXPECT_TRUE(is_gone);
}

TEST_F(SlowBody, AStreamOfEventsLives) {
  auto [client, server, asked] = exchange();
  server.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.read_head();
  for (int i = 0; i < 10; ++i) {
    server.send("1\r\n:\r\n");
    client.expect("1\r\n:\r\n");
    EXPECT_TRUE(client.is_quiet_for(100ms));
  }
}

TEST_F(SlowBody, AFastOneIsNotTouched) {
  given.settings.timeouts.body = 800ms;  // more than a busy machine stalls it; less than all of it takes
  auto [client, server, asked] = exchange(post_origin(length_field(1'000'000)));
  const std::string piece(50'000, 'x');
  for (int i = 0; i < 20; ++i) {
    client.send(piece);
    server.expect(piece);
    EXPECT_TRUE(client.is_quiet_for(50ms));
  }
  answer(server, client, "thanks");
}

TEST_F(SlowBody, NothingIsAskedWhereNothingIsConfigured) {
  given.settings.limits.least_rate = 0;
  auto [client, server, asked] = exchange(post_origin(length_field(100)));
  EXPECT_FALSE(drip(client, client, "x", 60));
}

}  // namespace
}  // namespace bloomwall::test
