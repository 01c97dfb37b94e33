// The real program between links that go dead and come back, and addresses at which nobody answers.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/end_to_end/proxy_between_links.h"

namespace bloomwall::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBody{1000};  // timeouts.body, and tunnel_idle

// What a link's death interrupts.
struct UnderWay {
  const char* name;
  const char* method;
  const char* framing;  // of the body that has begun
  const char* version = "HTTP/1.1";
  bool is_upload() const { return std::string_view(method) == "POST"; }
  // The first octets of that body.
  std::string_view begun() const { return std::string_view(framing).starts_with("T") ? "5\r\nbegun\r\n" : "begun"; }
};

class DeadLink : public ProxyBetweenLinks {
 protected:
  void SetUp() override {
    ProxyBetweenLinks::SetUp();
    if (IsSkipped()) return;
    start_proxy(fmt::format("body: {0}ms, tunnel_idle: {0}ms", kBody.count()));
    idle_.emplace(Pair{call_from(*client_), listen_at(*origin_)});
    other_.emplace(Pair{call_from(*beside_), listen_at(*beside_)});
    idle_->exchange(0);  // its origin's connection is in the pool now
  }
  Pair begin(const UnderWay& row) {
    SCOPED_TRACE(row.name);
    Pair pair{call_from(*client_), listen_at(*origin_)};
    const std::string_view of_request = row.is_upload() ? row.framing : "";
    pair.client.send(request_head(row.method, pair.listener->authority(), "/", of_request, row.version));
    if (row.is_upload()) pair.client.send(row.begun());
    pair.begin_to_serve(std::string(row.method) + " / ");
    if (row.is_upload()) {
      pair.origin->expect(row.begun());
    } else {
      pair.origin->send(fmt::format("HTTP/1.1 200 OK\r\n{}\r\n{}", row.framing, row.begun()));
      EXPECT_TRUE(pair.client.read_head().starts_with("HTTP/1.1 200 "));
      pair.client.read_until("begun");
    }
    return pair;
  }
  // Others are served, again and again, until the proxy has given up what was under way.
  void expect_others_served_until(const std::function<bool()>& over) {
    const Stopwatch since;
    int served = 0;
    while (!over() && since.elapsed() < kPatience) other_->exchange(served++);
    EXPECT_GE(served, 3) << "stalled by somebody else's dead link";
  }
  void expect_all_works_again(Link& link) {
    EXPECT_GT(link.lost(), 0U);
    link.heal();
    EXPECT_TRUE(idle_->exchange(1)) << "nothing was wrong with the connection that was kept";
    Pair afresh{call_from(*client_), listen_at(*origin_)};
    afresh.exchange(2);
  }
  // Sends until told that nobody listens, or until nobody has read for long. Whether it came to that. By the
  // descriptor: what the peer has received belongs to whoever reads meanwhile.
  static std::future<bool> send_in_vain(const ScriptedPeer& peer, std::size_t size) {
    return std::async(std::launch::async, [fd = peer.fd(), bytes = std::string(size, 'x')] {
      for (std::string_view rest = bytes; !rest.empty();) {
        pollfd socket{fd, POLLOUT, 0};
        if (::poll(&socket, 1, static_cast<int>(kPatience.count())) <= 0) return true;
        const ssize_t sent = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return true;
        if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
      }
      return false;
    });
  }

  std::optional<Pair> idle_;   // over the link that dies, but with nothing under way
  std::optional<Pair> other_;  // over a link that lives
};

TEST_F(DeadLink, OfTheOriginCutsTheClientInTime) {
  constexpr UnderWay kRows[] = {
      {"a download with a length", "GET", "Content-Length: 40000000\r\n"},
      {"a download in chunks", "GET", "Transfer-Encoding: chunked\r\n"},
      {"a download until the origin closes", "GET", ""},
      {"a download that only the end ends", "GET", "", "HTTP/1.0"},
      {"an upload", "POST", "Content-Length: 40000000\r\n"},
  };
  const int counted = errors_of("upstream_timeout");
  const Stopwatch since;
  std::vector<Pair> pairs;
  std::vector<std::future<bool>> sent;
  for (const UnderWay& row : kRows) {
    pairs.push_back(begin(row));
    // At once: a client that pauses for as long as the link has to be dead is told that it is slow.
    if (row.is_upload()) sent.push_back(send_in_vain(pairs.back().client, 30 * kMiB));
  }
  ASSERT_TRUE(origin_->lose({""}));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!kRows[i].is_upload()) sent.push_back(send_in_vain(*pairs[i].origin, 100'000));
  }
  const int all = counted + static_cast<int>(pairs.size());
  expect_others_served_until([&] { return errors_of("upstream_timeout") >= all; });
  EXPECT_GE(since.elapsed(), kBody);
  EXPECT_EQ(errors_of("upstream_timeout"), all);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(kRows[i].name);
    if (kRows[i].is_upload()) {
      EXPECT_TRUE(pairs[i].client.read_head().starts_with("HTTP/1.1 504 "));
    } else {
      pairs[i].client.expect_reset();  // what was cut must not look whole
    }
  }
  expect_all_works_again(*origin_);
}

TEST_F(DeadLink, OfTheClientLetsTheOriginGoInTime) {
  constexpr UnderWay kRows[] = {
      {"a download with a length", "GET", "Content-Length: 50000000\r\n"},
      {"a download that only the end ends", "GET", "", "HTTP/1.0"},
      {"an upload with a length", "POST", "Content-Length: 40000000\r\n"},
      {"an upload in chunks", "POST", "Transfer-Encoding: chunked\r\n"},
  };
  const int stalled = errors_of("client_stalled"), late = errors_of("request_timeout");
  const Stopwatch since;
  std::vector<Pair> pairs;
  std::vector<std::future<bool>> sent;
  for (const UnderWay& row : kRows) {
    pairs.push_back(begin(row));
    // At once: an origin that pauses for as long as the link has to be dead is the one that is given up.
    if (!row.is_upload()) sent.push_back(send_in_vain(*pairs.back().origin, 40 * kMiB));
  }
  ASSERT_TRUE(client_->lose({""}));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (kRows[i].is_upload()) sent.push_back(send_in_vain(pairs[i].client, 5));
  }
  expect_others_served_until(
      [&] { return errors_of("client_stalled") >= stalled + 2 && errors_of("request_timeout") >= late + 2; });
  EXPECT_GE(since.elapsed(), kBody);
  EXPECT_EQ(errors_of("client_stalled"), stalled + 2);
  EXPECT_EQ(errors_of("request_timeout"), late + 2);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(kRows[i].name);
    if (kRows[i].is_upload()) {
      pairs[i].origin->expect_end();  // and no last chunk before it
    } else {
      EXPECT_TRUE(sent[i].get()) << "the origin is told that nobody listens";
    }
  }
  expect_all_works_again(*client_);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(kRows[i].name);
    if (kRows[i].is_upload()) continue;
    pairs[i].client.send("?");  // it has heard nothing of the end
    pairs[i].client.expect_reset();
  }
}

TEST_F(DeadLink, EndsTunnelsInTime) {
  Pair of_dead_client{call_from(*client_), listen_at(*beside_)};
  Pair to_dead_origin{call_from(*beside_), listen_at(*origin_)};
  const int counted = counter("tunnel_idle_timeouts_total");
  const Stopwatch since;
  for (Pair* pair : {&of_dead_client, &to_dead_origin}) {
    pair->open_tunnel();
    pair->client.send("ping");
    pair->origin->expect("ping");
  }
  ASSERT_TRUE(client_->lose({""}) && origin_->lose({""}));
  auto from_origin = send_in_vain(*of_dead_client.origin, 40 * kMiB);
  auto from_client = send_in_vain(to_dead_origin.client, 40 * kMiB);
  expect_others_served_until([&] { return counter("tunnel_idle_timeouts_total") >= counted + 2; });
  EXPECT_GE(since.elapsed(), kBody);
  EXPECT_TRUE(from_origin.get() && from_client.get()) << "whose link lives is told";
  client_->heal();
  expect_all_works_again(*origin_);
}

const std::string kSyn = "tcp flags & (syn | ack) == syn";

using DeadAddress = ProxyBetweenLinks;

struct Race {
  const char* name;
  std::vector<std::string> dead;  // where no SYN arrives, as nft matches it
  ScriptedDns::Record record;
  const char* alive;
  unsigned waits;  // for how many attempts before the one that succeeds
};

TEST_F(DeadAddress, AnotherAddressIsTriedSoon) {
  start_proxy("connect: 60s");  // beyond what the test waits for: whoever waits for it fails
  origin_->place().ip("addr add 10.8.0.3/24 dev origin\naddr add fd08::3/64 dev origin nodad\n");
  const std::string v4 = "meta nfproto ipv4 ", v6 = "meta nfproto ipv6 ";
  const Race rows[] = {
      {"IPv6 is dead", {v6}, {.v4 = {"10.8.0.2"}, .v6 = {"fd08::2"}}, "10.8.0.2", 1},
      {"IPv4 is dead", {v4}, {.v4 = {"10.8.0.2"}, .v6 = {"fd08::2"}}, "fd08::2", 0},
      {"all of IPv6 is dead", {v6}, {.v4 = {"10.8.0.2"}, .v6 = {"fd08::2", "fd08::3"}}, "10.8.0.2", 1},
      {"all but the second of IPv6 is dead",
       {v4, "ip6 daddr fd08::2 "},
       {.v4 = {"10.8.0.2"}, .v6 = {"fd08::2", "fd08::3"}},
       "fd08::3",
       2},
      {"one of IPv4 is dead", {"ip daddr 10.8.0.2 "}, {.v4 = {"10.8.0.2", "10.8.0.3"}}, "10.8.0.3", 1},
  };
  int number = 0;
  for (const Race& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string name = fmt::format("race{}.example.test", ++number);
    names_->set(name, row.record);
    std::vector<std::string> lost = row.dead;
    for (std::string& match : lost) match += kSyn;
    ASSERT_TRUE(origin_->lose(lost));
    const auto listener = listen_at(*origin_, row.alive);
    const std::string authority = name + ":" + std::to_string(listener->port());
    const bool tunnel = number % 2 == 0;
    ScriptedPeer client = call_from(*client_);
    const Stopwatch since;
    client.send(request_head(tunnel ? "CONNECT" : "GET", authority, "/"));
    ScriptedPeer origin = listener->accept();
    if (!tunnel) {
      origin.read_head();
      origin.send(answer("ok"));
    }
    EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 200 "));
    EXPECT_GE(since.elapsed(), milliseconds(240) * row.waits);
    EXPECT_GE(origin_->lost(), row.waits);
  }
}

TEST_F(DeadAddress, AnAddressThatSaysNothingIsGivenUpInTime) {
  constexpr milliseconds kConnect{1000};
  start_proxy(fmt::format("connect: {}ms", kConnect.count()));
  names_->set("dead.example.test", {.v4 = {"10.8.0.2"}, .v6 = {"fd08::2"}});
  const auto listener = listen_at(*origin_);  // somebody is there, but the way is not
  ASSERT_TRUE(origin_->lose({kSyn}));
  const int counted = errors_of("connect_timeout");
  std::vector<ScriptedPeer> clients;
  const Stopwatch since;
  for (const std::string host : {"10.8.0.2", "[fd08::2]", "dead.example.test"}) {
    for (const char* method : {"GET", "POST", "CONNECT"}) {
      clients.push_back(call_from(*client_));
      clients.back().send(request_head(method, host + ":" + std::to_string(listener->port()), "/"));
    }
  }
  for (ScriptedPeer& client : clients) {
    EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 504 "));
    EXPECT_GT(since.elapsed(), kConnect / 2);
  }
  EXPECT_EQ(errors_of("connect_timeout"), counted + static_cast<int>(clients.size()));
  EXPECT_GE(origin_->lost(), clients.size());
}

}  // namespace
}  // namespace bloomwall::test
