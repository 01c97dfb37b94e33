// limits.buffer_memory is spent: senders are paused, slow readers get everything, and only a peer that does not read at
// all is cut.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "proxy/io/pipe_pool.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBody = std::size_t{12} << 20;  // more than the kernel keeps for a connection
constexpr std::size_t kPeers = 24;

class ScarceMemory : public ProxyTest {
 protected:
  ScarceMemory() {
    given.settings.limits.buffer_memory = std::uint64_t{1} << 20;
    given.settings.limits.least_rate = 0;
    given.settings.timeouts.body = 1h;  // who waits for others here waits as long as the machine takes
  }
  // kPeers downloads that nobody reads yet, each sent by a thread of its own.
  void begin_downloads() {
    for (std::size_t i = 0; i < kPeers; ++i) {
      Exchange one = exchange();
      clients.push_back(std::move(one.client));
      senders.push_back(sender(std::move(one.server), "HTTP/1.1 200 OK\r\n" + length_field(kBody) + "\r\n"));
    }
  }
  // Begins them, reads a little of each for two timeouts.body, and again. False: the machine was too slow for that.
  bool reads_again_and_again() {
    const std::chrono::milliseconds time = given.settings.timeouts.body;
    auto last = std::chrono::steady_clock::now();
    const auto is_late = [&] {
      const auto now = std::chrono::steady_clock::now();
      return now - std::exchange(last, now) > time / 2;
    };
    try {
      begin_downloads();
      for (const auto end = std::chrono::steady_clock::now() + 2 * time; std::chrono::steady_clock::now() < end;) {
        for (ScriptedPeer& client : clients) client.read_exactly(4000);
        if (is_late()) return false;
        std::this_thread::sleep_for(20ms);
      }
    } catch (const std::exception&) {
      if (!is_late()) throw;
      return false;
    }
    EXPECT_EQ(counter(&Counters::client_connections_active), kPeers);
    return true;
  }
  void end_downloads() {
    clients.clear();
    senders.clear();
    wait_for_counter(&Counters::client_connections_active, 0);
  }
  // Sends without a deadline.
  static std::jthread sender(ScriptedPeer to, const std::string& head) {
    const timeval for_ever{};
    EXPECT_EQ(::setsockopt(to.fd(), SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof for_ever), 0);
    to.send(head);
    return std::jthread([peer = std::make_shared<ScriptedPeer>(std::move(to))] {
      static const std::string body(kBody, 'b');
      for (std::size_t sent = 0; sent < kBody;) {
        const ssize_t n = ::send(peer->fd(), body.data() + sent, kBody - sent, MSG_NOSIGNAL);
        if (n <= 0) return;  // it was cut
        sent += static_cast<std::size_t>(n);
      }
      peer->shut_write();
      try {
        peer->read_to_end();
      } catch (const std::exception&) {  // it is reset
      }
    });
  }
  std::uint64_t held() { return the_proxy().gauges().buffer_bytes; }
  void await_shortage() {
    wait_until([&] { return held() > given.settings.limits.buffer_memory / 2; });
    std::uint64_t before = 0;
    int unchanged = 0;
    wait_until([&] {
      const std::uint64_t now = held();
      unchanged = std::exchange(before, now) == now ? unchanged + 1 : 0;
      return unchanged == 100;  // nothing moves any more
    });
  }
  static bool read_body(ScriptedPeer& peer) {
    std::size_t left = kBody;
    for (; left > 0; left -= std::min(left, std::size_t{1} << 16)) {
      peer.read_exactly(std::min(left, std::size_t{1} << 16));
    }
    return left == 0;
  }
  void expect_nothing_is_left() {
    wait_for_counter(&Counters::client_connections_active, 0);
    wait_until([&] { return held() == 0; });
    EXPECT_EQ(counter(&Counters::buffer_refusals_total), 0U);
  }

  std::vector<std::jthread> senders;
  std::vector<ScriptedPeer> clients;  // whose end is the senders'
};

TEST_F(ScarceMemory, SlowReadersGetTheirWholeBodies) {
  begin_downloads();
  await_shortage();
  expect_alive();  // a client that reads at once does not wait for them
  for (ScriptedPeer& client : clients) {
    EXPECT_EQ(status_of(client.read_head()), 200);
    EXPECT_TRUE(read_body(client));
  }
  clients.clear();
  expect_nothing_is_left();
}

TEST_F(ScarceMemory, WhoDoesNotReadAtAllIsCutInTime) {
  given.settings.timeouts.body = 2s;
  begin_downloads();
  wait_for_counter(&Counters::client_connections_active, 0);
  wait_until([&] { return held() == 0; });
}

TEST_F(ScarceMemory, WhoReadsAgainAndAgainIsNotCut) {
  for (given.settings.timeouts.body = 2s; !reads_again_and_again(); given.settings.timeouts.body *= 2) {
    end_downloads();
    reload();
  }
}

TEST_F(ScarceMemory, OriginsThatReadSlowlyGetTheirWholeBodies) {
  std::vector<ScriptedPeer> servers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    Exchange one = exchange(post_origin(length_field(kBody) + "Connection: close\r\n"));
    servers.push_back(std::move(one.server));
    senders.push_back(sender(std::move(one.client), ""));
  }
  await_shortage();
  expect_alive();
  for (ScriptedPeer& server : servers) {
    EXPECT_TRUE(read_body(server));
    server.send(ok(""));
  }
  expect_nothing_is_left();
}

TEST_F(ScarceMemory, TunnelsThatAreReadSlowlyLoseNothing) {
  for (std::size_t i = 0; i < kPeers; ++i) {
    Tunnel one = tunnel();
    one.client.send("hello");
    one.server.expect("hello");
    clients.push_back(std::move(one.client));
    senders.push_back(sender(std::move(one.server), ""));
  }
  for (ScriptedPeer& client : clients) EXPECT_TRUE(read_body(client));
  clients.clear();
  expect_nothing_is_left();
}

// What their clients will say first is still awaited. So many that there are no pipes for some of them.
TEST_F(ScarceMemory, TunnelsWhoseServersSpeakFirstLoseNothing) {
  for (std::size_t i = 0; i < proxy::PipePool::kMost + kPeers; ++i) {
    Tunnel one = tunnel();
    clients.push_back(std::move(one.client));
    senders.push_back(sender(std::move(one.server), ""));
  }
  await_shortage();
  expect_alive();
  for (ScriptedPeer& client : clients) EXPECT_TRUE(read_body(client));
  clients.clear();
  expect_nothing_is_left();
}

// No deadlock: incomplete heads hold all the memory, and a download still makes progress.
TEST_F(ScarceMemory, HeldByHeadsDoesNotStopADownload) {
  std::vector<ScriptedPeer> half;
  for (int i = 0; i < 40; ++i) {
    half.push_back(new_client("GET http://ok.test/ HTTP/1.1\r\nX: " + std::string(50'000, 'h')));
  }
  wait_until([&] { return counter(&Counters::buffer_refusals_total) > 0; });
  Exchange one = exchange();
  senders.push_back(sender(std::move(one.server), "HTTP/1.1 200 OK\r\n" + length_field(kBody) + "\r\n"));
  EXPECT_EQ(status_of(one.client.read_head()), 200);
  EXPECT_TRUE(read_body(one.client));
  one.client.close();
}

}  // namespace
}  // namespace bloomwall::test
