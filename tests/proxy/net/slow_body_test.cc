// Bodies that move, but too slowly, in either direction.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "tests/proxy/net/proxy_fixture.h"

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
