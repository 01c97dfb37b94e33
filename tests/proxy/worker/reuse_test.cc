// Which requests that must not be sent twice go out on a connection that has carried others, and what becomes of them
// where the origin closes that very connection: each reaches the origin at most once, and its client learns of the
// rest.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "proxy/upstream/upstream.h"
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/support/seed.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using proxy::UpstreamPool;

#ifdef BLOOMWALL_SANITIZED
constexpr unsigned kRounds = 600;
#else
constexpr unsigned kRounds = 4'000;
#endif
constexpr unsigned kWarm = UpstreamPool::kProofs + 8;

void spin(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

// Until nothing idle is young enough for what must not be sent twice, and all has rested.
void age() { std::this_thread::sleep_for(std::max(UpstreamPool::kRest, UpstreamPool::kFresh) + 50ms); }

// Serves each connection on a thread of its own. Its answers say how many requests their connection has carried by
// then: X-Nth. The path says what it does: /stay/..., or after its answer and so many microseconds
// /half/MICROSECONDS/... (it ends its side, and reads on) and /close/MICROSECONDS/..., or /vanish/ (it closes
// without an answer), /die-over-it/ (likewise, when a while has passed).
class CountingOrigin {
 public:
  explicit CountingOrigin(ScriptedListener& listener) : listener_(listener), acceptor_([this] { accept(); }) {}
  ~CountingOrigin() {
    stopping_ = true;
    ScriptedPeer::connect(listener_.port()).close();
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    while (serving_ > 0) std::this_thread::sleep_for(1ms);
  }
  // How often it has read a request with this path, on whatever connection.
  unsigned seen(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return seen_[path];
  }

 private:
  void accept() {
    while (!stopping_) {
      try {
        auto peer = std::make_shared<ScriptedPeer>(listener_.accept());
        ++serving_;
        {
          const std::lock_guard lock(mutex_);
          open_.insert(peer->fd());
        }
        std::thread([this, peer = std::move(peer)] {
          serve(*peer);
          const std::lock_guard lock(mutex_);
          open_.erase(peer->fd());
          peer->close();
          --serving_;
        }).detach();
      } catch (const std::exception&) {  // nobody came for a while
      }
    }
  }

  void serve(ScriptedPeer& peer) {
    try {
      for (unsigned nth = 1;; ++nth) {
        pollfd asked{.fd = peer.fd(), .events = POLLIN, .revents = 0};
        ::poll(&asked, 1, -1);
        const std::string head = peer.read_head();
        const std::string length = field_of(head, "Content-Length");
        if (!length.empty()) peer.read_exactly(std::stoul(length));
        if (!field_of(head, "Transfer-Encoding").empty()) peer.read_chunked();
        answer(peer, head, nth);
      }
    } catch (const std::exception&) {  // it is over
    }
  }

  void answer(ScriptedPeer& peer, const std::string& head, unsigned nth) {
    const std::size_t begin = head.find(' ') + 1;
    const std::string path = head.substr(begin, head.find(' ', begin) - begin);
    {
      const std::lock_guard lock(mutex_);
      ++seen_[path];
    }
    if (path == "/die-over-it/") age();
    if (path == "/vanish/" || path == "/die-over-it/") {
      ::shutdown(peer.fd(), SHUT_RDWR);
      return;
    }
    const char* const body = head.starts_with("HEAD ") ? "" : "ok";
    peer.send(fmt::format("HTTP/1.1 200 OK\r\nX-Nth: {}\r\nContent-Length: 2\r\n\r\n{}", nth, body));
    if (path.starts_with("/stay/")) return;
    spin(std::chrono::microseconds(std::stoi(path.substr(path.find('/', 1) + 1))));
    ::shutdown(peer.fd(), path.starts_with("/half/") ? SHUT_WR : SHUT_RDWR);
  }

  ScriptedListener& listener_;
  std::atomic<bool> stopping_ = false;
  std::atomic<unsigned> serving_ = 0;
  std::mutex mutex_;
  std::map<std::string, unsigned> seen_;
  std::set<int> open_;
  std::thread acceptor_;
};

class Reuse : public ProxyTest {
 protected:
  // The origin's connection has carried so many requests, this one included; 0: the client was given no answer, and its
  // connection ended.
  unsigned ask(ScriptedPeer& client, const std::string& method, const std::string& path,
               std::string_view body = "abc") {
    const bool has_body = method == "POST" || method == "PUT";
    client.send(request(method, origin.authority(), path, has_body ? length_field(body.size()) : "",
                        has_body ? std::string(body) : ""));
    return read_nth(client, method == "HEAD" ? "" : "ok");
  }
  unsigned ask_chunked(ScriptedPeer& client, const std::string& body = "abc") {
    client.send(request("PUT", origin.authority(), "/stay/", "Transfer-Encoding: chunked\r\n",
                        fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body)));
    return read_nth(client);
  }
  static unsigned read_nth(ScriptedPeer& client, const char* body = "ok") {
    std::string head;
    try {
      head = client.read_head();
    } catch (const std::exception&) {
      client.expect_end();
      return 0;
    }
    EXPECT_EQ(status_of(head), 200) << head;
    client.expect(body);
    return static_cast<unsigned>(std::stoul(field_of(head, "X-Nth")));
  }
  // Connections of many clients rest, and say nothing.
  void earn_trust() {
    for (const bool is_again : {false, true}) {
      std::vector<ScriptedPeer> clients;
      for (unsigned i = 0; i < kWarm; ++i) {
        clients.push_back(new_client());
        ask(clients.back(), "GET", "/stay/");
      }
      if (!is_again) age();
    }
  }

  CountingOrigin counting{origin};
};

struct Row {
  const char* name;
  std::vector<std::string> before;  // methods of earlier requests of the same client
  bool is_late;                     // longer after these than kFresh
  const char* method;
  bool is_reused;
};

class ReuseTable : public Reuse {
 protected:
  void expect(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.name);
      if (!row.is_reused) age();  // or another connection might be young enough
      auto client = new_client();
      for (const std::string& method : row.before) ask(client, method, "/stay/");
      if (row.is_late) age();
      const std::string method = row.method;
      const unsigned nth = method == "chunked PUT" ? ask_chunked(client) : ask(client, method, "/stay/");
      EXPECT_EQ(nth > 1, row.is_reused) << nth;
      EXPECT_GT(nth, 0U);
    }
  }
};

TEST_F(ReuseTable, OfAHostThatHasEarnedNoTrust) {
  expect({
      {"the client's first", {}, false, "POST", false},
      {"behind a GET", {"GET"}, false, "POST", true},
      {"behind a GET, may be sent again", {"GET"}, false, "GET", true},
      {"behind a HEAD", {"HEAD"}, false, "POST", true},
      {"behind a POST", {"POST"}, false, "POST", true},
      {"behind a POST, may be sent again", {"POST"}, false, "GET", true},
      {"behind two", {"POST", "POST"}, false, "PUT", true},
      {"behind a PUT and a POST", {"PUT", "POST"}, false, "chunked PUT", true},
      {"long after a POST", {"POST"}, true, "POST", false},
      {"long after a POST, may be sent again", {"POST"}, true, "GET", true},
  });
}

TEST_F(ReuseTable, OfAHostThatIsTrusted) {
  earn_trust();
  expect({
      {"the client's first", {}, false, "POST", false},
      {"the client's first with a body", {}, false, "PUT", false},
      {"the client's first, which may be sent again", {}, false, "DELETE", true},
      {"behind a GET", {"GET"}, false, "POST", true},
      {"behind a GET, idempotent", {"GET"}, false, "PUT", true},
      {"behind a GET, chunked", {"GET"}, false, "chunked PUT", true},
      {"behind a GET, of an unknown method", {"GET"}, false, "REPORT", true},
      {"long after a GET", {"GET"}, true, "POST", false},
  });
}

// A proxy below this one speaks for many: what one of its users makes an origin say must not reach another.
TEST_F(Reuse, AClientThatIsAProxyIsManyClients) {
  for (const std::string field : {"Via: 1.1 below", "Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1"}) {
    SCOPED_TRACE(field);
    auto client = new_client();
    for (const char* const method : {"GET", "HEAD", "GET"}) {
      client.send(request(method, origin.authority(), "/stay/", field + "\r\n"));
      EXPECT_EQ(read_nth(client, std::string_view(method) == "HEAD" ? "" : "ok"), 1U) << method;
    }
  }
}

// One connection a client, whatever it asks for and however fast.
TEST_F(Reuse, AFreshHostIsNotFlooded) {
  const auto before = counter(&Counters::upstream_connections_total);
  std::vector<ScriptedPeer> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(new_client());
  for (int round = 0; round < 50; ++round) {
    for (ScriptedPeer& client : clients)
      ask(client, round % 3 == 0 ? "HEAD" : round % 3 == 1 ? "GET" : "PUT", "/stay/");
  }
  EXPECT_EQ(counter(&Counters::upstream_connections_total), before + clients.size());
}

// Of a host that does not read what one client sent, another must not get the answer.
TEST_F(Reuse, AConnectionThatCarriedABodyIsForTheClientThatSentItAlone) {
  auto client = new_client(), other = new_client();
  ScriptedListener elsewhere;
  other.send(get(elsewhere.authority()));
  auto server = elsewhere.accept();
  server.read_head();
  answer(server, other, "it was answered");
  EXPECT_EQ(ask(client, "POST", "/stay/"), 1U);
  EXPECT_EQ(ask(other, "POST", "/stay/"), 1U);
  EXPECT_EQ(ask(client, "POST", "/stay/"), 2U);
  EXPECT_EQ(ask(other, "POST", "/stay/"), 2U);
}

// A client that knows of an origin that does not read a body could ask it in there for what the filters block.
TEST_F(Reuse, AConnectionWhoseRequestCouldHideAnotherIsNotUsedAgain) {
  auto client = new_client();
  EXPECT_EQ(ask(client, "GET", "/stay/"), 1U);
  EXPECT_EQ(ask(client, "POST", "/stay/", R"({"of": "GET /blocked HTTP/1.1"})"), 2U);
  EXPECT_EQ(ask(client, "POST", "/stay/", "GET /blocked HTTP/1.1\r\nHost: " + origin.authority() + "\r\n\r\n"), 3U);
  EXPECT_EQ(ask(client, "GET", "/stay/"), 1U);
  EXPECT_EQ(ask_chunked(client, "GET /blocked HTTP/1.1\r\n\r\n"), 2U);
  EXPECT_EQ(ask(client, "GET", "/stay/"), 1U);
}

TEST_F(Reuse, WhereTheConnectionDiesTheClientIsClosedAndNothingSentAgain) {
  auto client = new_client();
  ask(client, "POST", "/stay/");
  const auto dialled = counter(&Counters::upstream_connections_total);
  EXPECT_EQ(ask(client, "POST", "/vanish/", std::string(100'000, 'x')), 0U);
  EXPECT_EQ(counting.seen("/vanish/"), 1U);
  EXPECT_EQ(counter(&Counters::upstream_connections_total), dialled);
  EXPECT_EQ(errors(proxy::ErrorKind::connection_terminated), 1U);
  expect_alive();
}

// It had the request for longer than a connection takes to close: no client is left to take that for an idle end.
TEST_F(Reuse, AnOriginThatDiesOverARequestIsReported) {
  auto client = new_client();
  ask(client, "POST", "/stay/");
  client.send(request("POST", origin.authority(), "/die-over-it/", length_field(3), "abc"));
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_EQ(counting.seen("/die-over-it/"), 1U);
}

TEST_F(Reuse, WhateverClosesAtTheMomentOfReuseEachRequestIsSeenOnceAtMost) {
  const std::uint32_t seed = test_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto reused = counter(&Counters::upstream_reuses_total);
  std::map<std::string, bool> answered;
  auto client = new_client();
  for (unsigned round = 0; round < kRounds; ++round) {
    const char* const then = std::vector{"stay", "half", "close"}[random() % 3];
    const std::string path = fmt::format("/{}/{}/{}", then, random() % 200, round);
    const std::string body(random() % 8 == 0 ? 100'000 : 10, 'x');
    const bool has_answer = answered[path] = ask(client, "POST", path, body) > 0;
    if (!has_answer) client = new_client();
    spin(std::chrono::microseconds(random() % 200));
  }
  unsigned lost = 0;
  for (const auto& [path, has_answer] : answered) {
    const unsigned seen = counting.seen(path);
    EXPECT_LE(seen, 1U) << path;
    EXPECT_TRUE(seen == 1 || !has_answer) << path;
    lost += has_answer ? 0 : 1;
  }
  EXPECT_LT(lost, kRounds / 2);
  EXPECT_GT(counter(&Counters::upstream_reuses_total), reused + kRounds / 8);
  EXPECT_EQ(counter(&Counters::upstream_retries_total), 0U);
  RecordProperty("lost", static_cast<int>(lost));
}

}  // namespace
}  // namespace bloomwall::test
