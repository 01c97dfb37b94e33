// Answers that are complete before their request is: what becomes of both connections, and that the octets of one
// request never become part of another.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "proxy/upstream/upstream.h"
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/support/seed.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;

#ifdef BLOOMWALL_SANITIZED
constexpr unsigned kRounds = 150;
#else
constexpr unsigned kRounds = 800;
#endif

class EarlyAnswer : public ProxyTest {
 protected:
  // A POST of `size` octets of which `sent` have left, and its answer, which the client has read.
  Exchange begin(std::size_t size, std::size_t sent, const std::string& fields = "") {
    Exchange all = exchange(post_origin(fields + length_field(size), std::string(sent, 'x')));
    all.server.expect(std::string(sent, 'x'));
    all.server.send(ok("early"));
    head_ = all.client.read_head();
    EXPECT_EQ(status_of(head_), 200);
    all.client.expect("early");
    return all;
  }
  bool keeps_client() const { return field_of(head_, "Connection") != "close"; }
  // The client's connection carries another request, on a new connection to the origin.
  void expect_another(ScriptedPeer& client) {
    client.send(get_origin("/another"));
    auto server = origin.accept();
    EXPECT_TRUE(server.read_head().starts_with("GET /another "));
    answer(server, client, "two");
  }
  std::string head_;
};

TEST_F(EarlyAnswer, TheRestOfASmallRequestGoesToTheOriginAndBothConnectionsAreKept) {
  auto [client, server, asked] = begin(5000, 2000);
  EXPECT_TRUE(keeps_client());
  client.send(std::string(3000, 'y'));
  server.expect(std::string(3000, 'y'));
  rest(server);
  client.send(get_origin("/another"));
  EXPECT_TRUE(server.read_head().starts_with("GET /another "));
  answer(server, client, "two");
  EXPECT_EQ(counter(&Counters::upstream_connections_total), 1U);
  EXPECT_EQ(counter(&Counters::client_connections_total), 1U);
}

TEST_F(EarlyAnswer, APipelinedRequestIsFoundBehindTheRest) {
  auto [client, server, asked] = begin(100, 40);
  client.send(std::string(60, 'y') + get_origin("/another"));
  server.expect(std::string(60, 'y'));
  EXPECT_TRUE(server.read_head().starts_with("GET /another "));
  answer(server, client, "two");
}

TEST_F(EarlyAnswer, TheClientIsClosedWhereTheRestIsLargeUnknownOrMayNotCome) {
  struct Row {
    const char* rule;
    std::string fields, body;
  };
  for (const auto& [rule, fields, body] : {
           Row{"large", length_field(1'000'000), "xx"},
           Row{"of unknown length", "Transfer-Encoding: chunked\r\n", "2\r\nxx\r\n"},
           Row{"that waits to be asked for", "Expect: 100-continue\r\n" + length_field(10), ""},
       }) {
    SCOPED_TRACE(rule);
    auto [client, server, asked] = exchange(post_origin(fields, body));
    server.send(ok("early"));
    const std::string head = client.read_head();
    EXPECT_EQ(field_of(head, "Connection"), "close");
    client.expect("early");
    client.expect_end();
  }
}

TEST_F(EarlyAnswer, WhereTheOriginClosesTheRestIsDropped) {
  for (const bool by_reset : {false, true}) {
    SCOPED_TRACE(by_reset);
    auto [client, server, asked] = begin(5000, 2000);
    by_reset ? server.reset() : server.close();
    client.send(std::string(1000, 'y'));
    client.send(std::string(2000, 'y'));
    expect_another(client);
  }
}

TEST_F(EarlyAnswer, WhereTheOriginSaysThatItClosesTheRestIsDropped) {
  auto [client, server, asked] = exchange(post_origin(length_field(5000), std::string(2000, 'x')));
  server.send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig");
  EXPECT_EQ(field_of(client.read_head(), "Connection"), "");
  client.expect("big");
  server.expect(std::string(2000, 'x'));
  server.expect_end();
  client.send(std::string(3000, 'y'));
  expect_another(client);
}

TEST_F(EarlyAnswer, OctetsBehindTheAnswerEndTheOriginsConnectionAlone) {
  auto [client, server, asked] = begin(5000, 2000);
  server.send(ok("nobody asked"));
  server.expect_end();
  client.send(std::string(3000, 'y'));
  expect_another(client);
}

TEST_F(EarlyAnswer, ARestThatDoesNotComeIsWaitedForInItsTime) {
  given.settings.timeouts.body = 200ms;
  auto [client, server, asked] = begin(5000, 2000);
  client.expect_end();
  server.expect_end();
}

TEST_F(EarlyAnswer, WhereTheClientEndsInTheMiddleTheOriginsConnectionCarriesNothingElse) {
  auto [client, server, asked] = begin(5000, 2000);
  client.shut_write();
  server.expect_end();
  client.expect_end();
  expect_alive();
}

// An origin that answers at any moment of its request, says more than it should, or closes. Each answer names the path
// that the origin has read. Serves each connection on a thread of its own.
class HastyOrigin {
 public:
  HastyOrigin(ScriptedListener& listener, unsigned seed)
      : listener_(listener), acceptor_([this, seed] { accept(std::mt19937(seed)); }) {}
  ~HastyOrigin() {
    stopping_ = true;
    ScriptedPeer::connect(listener_.port()).close();
    acceptor_.join();
    for (const auto& served : served_) ::shutdown(served->peer.fd(), SHUT_RDWR);
    for (const auto& served : served_) served->thread.join();
  }

 private:
  struct Served {
    ScriptedPeer peer;
    std::thread thread;
  };

  void accept(std::mt19937 random) {
    while (!stopping_) {
      try {
        served_.push_back(std::make_unique<Served>(Served{listener_.accept(), {}}));
        Served& served = *served_.back();
        served.thread = std::thread([&served, own = std::mt19937(random())]() mutable { serve(served.peer, own); });
      } catch (const std::exception&) {  // nobody came for a while
      }
    }
  }

  static void serve(ScriptedPeer& peer, std::mt19937& random) {
    try {
      while (serve_one(peer, random)) continue;
    } catch (const std::exception&) {  // the connection is over
    }
    ::shutdown(peer.fd(), SHUT_RDWR);
  }

  static bool serve_one(ScriptedPeer& peer, std::mt19937& random) {
    const std::string head = peer.read_head();
    EXPECT_TRUE(head.starts_with("POST /")) << head;
    const std::string path = head.substr(5, head.find(' ', 5) - 5);
    const std::size_t size = std::stoul(field_of(head, "Content-Length"));
    const std::size_t read_before = random() % (size + 1);
    std::string body = peer.read_exactly(read_before);
    peer.send(ok(path));
    const unsigned then = random() % 16;
    if (then == 0) peer.send(ok("/surplus"));
    if (then == 1) return false;
    body += peer.read_exactly(size - read_before);
    EXPECT_EQ(body, std::string(size, octet_of(path)));
    return then != 2;
  }
  static char octet_of(const std::string& path) { return static_cast<char>('a' + std::stoul(path.substr(1)) % 26); }

  ScriptedListener& listener_;
  std::atomic<bool> stopping_ = false;
  std::vector<std::unique_ptr<Served>> served_;  // the acceptor's, until it has ended
  std::thread acceptor_;
};

// What an origin says too much may be read as the answer to the same client's next request, as without a proxy.
TEST_F(EarlyAnswer, WhateverTheOriginDoesNoRequestGetsAnothersOctetsOrAnothersAnswer) {
  const std::uint32_t seed = test_seed();
  std::mt19937 random(seed);
  const HastyOrigin hasty(origin, seed + 1);
  auto client = new_client();
  unsigned answered = 0, first = 0;  // the client's first round
  for (unsigned round = 0; round < kRounds; ++round) {
    const std::size_t size = 1 + random() % (random() % 4 == 0 ? 60'000 : 300);
    const std::string body(size, static_cast<char>('a' + round % 26));
    const std::string path = fmt::format("/{}", round);
    try {
      client.send(post_origin(length_field(size), "", path));
      for (std::size_t sent = 0; sent < size;) {
        const std::size_t piece = std::min(size - sent, 1 + random() % size);
        client.send(body.substr(sent, piece));
        sent += piece;
      }
      const Answer got = read_answer(client);
      if (status_of(got.head) == 200) {
        const bool is_own = got.body == "/surplus" || std::stoul(got.body.substr(1)) >= first;
        EXPECT_TRUE(is_own) << got.body << " for " << path;
        answered += got.body == path ? 1U : 0U;
      }
      if (field_of(got.head, "Connection") != "close") continue;
    } catch (const std::exception&) {  // closed because the origin had closed
    }
    client = new_client();
    first = round + 1;
  }
  EXPECT_GT(answered, kRounds / 2);
}

}  // namespace
}  // namespace bloomwall::test
