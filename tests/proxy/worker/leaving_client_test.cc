// Clients that leave while something is under way for them: whoever resets is let go at once, whoever only ends its
// side is answered.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/support/scripted_dns.h"
#include "tests/support/seed.h"

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

TEST_F(LeavingClient, IsLetGoWhileTheAnswerToItsRequestInsideATunnelIsAwaited) {
  auto [client, server] = tunnel();
  client.send(get_origin());
  server.read_head();
  client.reset();
  server.expect_end();
  expect_all_gone();
  EXPECT_EQ(errors(ErrorKind::client_gone), 1U);
}

TEST_F(LeavingClient, LeavesNothingOfItsRequestToWhoComesNext) {
  given.settings.limits.pooled_connections = 0;
  const std::string lines = "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n";  // as many empty ones as may come before a request
  for (const std::string& said : {std::string("\r"), lines, lines + "\r", std::string("GET")}) {
    auto client = new_client(said);
    client.shut_write();
    client.expect_end();
    auto [next, server, asked] = exchange("\r\n" + get_origin());
    answer(server, next, "fine");
  }
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

// Before there is anybody to ask: while the name server is awaited, for a request with a body and for a tunnel, too.
TEST_F(LeavingClient, IsLetGoWhileItsNameIsAskedFor) {
  ScriptedDns names;
  names.set("silent.example", {.silent = true});
  given.settings.dns.servers = {names.address()};
  int left = 0;
  for (const std::string& text : {get("silent.example"), connect_to("silent.example:443"),
                                  request("POST", "silent.example", "/", length_field(10), "abc")}) {
    auto client = new_client(text);
    wait_until([&] { return the_proxy().gauges().requests_in_flight == 1; });
    client.reset();
    expect_all_gone();
    EXPECT_EQ(errors(ErrorKind::client_gone), static_cast<std::uint64_t>(++left)) << text;
  }
  EXPECT_GE(names.asked_in_all(), 1);
}

TEST_F(LeavingClient, IsLetGoWhileTheParentsAnswerIsAwaited) {
  given.settings.upstream.parent = origin.authority();
  for (const std::string& text : {get("far.example"), connect_to("far.example:443")}) {
    auto [client, up, asked] = exchange(text);
    client.reset();
    up.expect_end();
    expect_all_gone();
  }
}

// One side has ended, the other may go on; when the first is reset after that, nothing can come of it any more.
TEST_F(LeavingClient, LeavesNoTunnelWhenItResetsAfterItHasEndedItsSide) {
  auto [client, server] = tunnel();
  client.send("\1 last words");
  client.shut_write();
  EXPECT_EQ(server.read_to_end(), "\1 last words");
  server.send("and the answer");
  EXPECT_EQ(client.read_exactly(14), "and the answer");
  client.reset();
  expect_all_gone();
}

TEST_F(LeavingClient, IsLetGoByATunnelWhoseFarEndResetsAfterItHasEndedItsSide) {
  auto [client, server] = tunnel();
  server.send("\1 last words");
  server.shut_write();
  EXPECT_EQ(client.read_to_end(), "\1 last words");
  client.send("\1 goes on");
  EXPECT_EQ(server.read_exactly(9), "\1 goes on");
  server.reset();
  expect_all_gone();
}

// Both sides may learn of it first by what they read or by what they send.
TEST_F(LeavingClient, LeavesNoTunnelWhoeverResetsWhileBothSend) {
  for (int i = 0; i < 100; ++i) {
    auto [client, server] = tunnel();
    ScriptedPeer& leaver = i % 2 == 0 ? client : server;
    ScriptedPeer& other = i % 2 == 0 ? server : client;
    leaver.send("\1 first");
    EXPECT_EQ(other.read_exactly(7), "\1 first");
    std::jthread sender([&other] {
      try {
        for (;;) other.send(std::string(1000, '\1'));
      } catch (const std::exception&) {  // cut off, as it must be
      }
    });
    leaver.read_exactly(5000);
    leaver.send("\1 last");
    leaver.reset();
  }
  expect_all_gone();
}

// Answers every other connection, and is silent on the rest until they end.
class MoodyOrigin {
 public:
  MoodyOrigin(ScriptedListener& listener, unsigned seed)
      : listener_(listener), acceptor_([this, seed] { accept(std::mt19937(seed)); }) {}
  ~MoodyOrigin() {
    stopping_ = true;
    ScriptedPeer::connect(listener_.port()).close();
  }

 private:
  void accept(std::mt19937 random) {
    std::list<std::jthread> servers;
    while (!stopping_) {
      try {
        auto peer = std::make_shared<ScriptedPeer>(listener_.accept());
        servers.emplace_back([peer, silent = random() % 2 == 0] { serve(*peer, silent); });
      } catch (const std::exception&) {  // nobody came
      }
    }
  }
  static void serve(ScriptedPeer& peer, bool silent) {
    try {
      peer.read_head();
      if (!silent) peer.send(ok(std::string(300'000, 'x')));
      peer.read_to_end();
    } catch (const std::exception&) {  // cut off
    }
  }

  ScriptedListener& listener_;
  std::atomic<bool> stopping_ = false;
  std::jthread acceptor_;
};

TEST_F(LeavingClient, LeavesNothingBehindWheneverItGoes) {
  const std::uint32_t seed = test_seed();
  std::mt19937 random(seed);
  given.settings.limits.pooled_connections = 0;  // those would stay, as they should
  const MoodyOrigin moody(origin, seed + 1);
  constexpr unsigned kClients = 200;
  for (unsigned i = 0; i < kClients; ++i) {
    const std::string body(random() % 5000, 'b');
    const std::string text = i % 3 == 0   ? post_origin(length_field(body.size()), body)
                             : i % 3 == 1 ? get_origin() + get_origin("/next")
                                          : connect_to(origin.authority()) + "hello";
    try {
      auto client = new_client(text.substr(0, random() % (text.size() + 1)));
      client.is_quiet_for(std::chrono::milliseconds(random() % 4));
      if (random() % 4 == 0) client.shut_write();
      client.is_quiet_for(std::chrono::milliseconds(random() % 4));
      client.reset();
    } catch (const std::exception&) {  // cut off before it could leave
    }
  }
  wait_for_counter(&Counters::client_connections_total, kClients);  // the last ones may still be in the kernel's queue
  expect_all_gone();
}

}  // namespace
}  // namespace bloomwall::test
