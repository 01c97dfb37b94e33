// Origins that take only so many connections from one address: what is scarce goes round, and no request fails for it.
// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "proxy/upstream/origin_places.h"
#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

// How one connection too many is turned away.
enum class TurnsAway : std::uint8_t {
  refuses,  // nobody listens while there is no room
  ends,     // it is accepted and closed
  resets,   // it is accepted and reset
};

// Serves at most so many connections, on a thread of its own; each answer is "ok", to HEAD none.
class LimitedOrigin {
 public:
  LimitedOrigin(std::size_t most, TurnsAway how) : most_(most), how_(how) {
    listen();
    thread_ = std::thread([this] { serve(); });
  }
  ~LimitedOrigin() {
    stopping_ = true;
    thread_.join();
    if (listener_ >= 0) ::close(listener_);
    for (const auto& [fd, text] : clients_) ::close(fd);
  }
  LimitedOrigin(const LimitedOrigin&) = delete;
  LimitedOrigin& operator=(const LimitedOrigin&) = delete;
  std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  std::size_t most_seen() const { return most_seen_; }

 private:
  void listen() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port_);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listener_, any, size), 0) << std::strerror(errno);
    ASSERT_EQ(::listen(listener_, 64), 0);
    ASSERT_EQ(::getsockname(listener_, any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  void serve() {
    while (!stopping_) {
      std::vector<pollfd> all;
      for (const auto& [fd, text] : clients_) all.push_back({fd, POLLIN, 0});
      if (listener_ >= 0) all.push_back({listener_, POLLIN, 0});
      ::poll(all.data(), all.size(), 5);
      for (const pollfd& one : all) {
        if (one.revents == 0) continue;
        one.fd == listener_ ? accept() : read(one.fd);
      }
    }
  }
  void accept() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (clients_.size() >= most_) {
      const linger at_once{1, 0};
      if (how_ == TurnsAway::resets) ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      ::close(fd);
      return;
    }
    clients_.emplace(fd, "");
    most_seen_ = std::max(most_seen_.load(), clients_.size());
    if (how_ == TurnsAway::refuses && clients_.size() == most_) ::close(std::exchange(listener_, -1));
  }
  void read(int fd) {
    char octets[4096];
    const ssize_t got = ::recv(fd, octets, sizeof octets, 0);
    if (got <= 0) {
      ::close(fd);
      clients_.erase(fd);
      if (listener_ < 0) listen();
      return;
    }
    std::string& text = clients_[fd];
    text.append(octets, static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find("\r\n\r\n")) != std::string::npos;) {
      const std::size_t body = text.starts_with("POST") ? 3 : 0;
      if (text.size() < end + 4 + body) return;
      const std::string answer = text.starts_with("HEAD") ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" : ok("ok");
      EXPECT_EQ(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer.size()));
      text.erase(0, end + 4 + body);
    }
  }

  const std::size_t most_;
  const TurnsAway how_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::map<int, std::string> clients_;  // what each has said
  std::atomic<std::size_t> most_seen_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

class ScarceOrigin : public ProxyTest {
 protected:
  // So many clients, in turn and all again, as often as there are methods.
  void ask_in_turn(const LimitedOrigin& limited, std::size_t count, const std::vector<std::string>& methods) {
    std::vector<ScriptedPeer> clients;
    for (std::size_t i = 0; i < count; ++i) clients.push_back(new_client());
    for (const std::string& method : methods) {
      for (ScriptedPeer& client : clients) {
        const bool has_body = method == "POST";
        client.send(request(method, limited.authority(), "/", has_body ? length_field(3) : "", has_body ? "abc" : ""));
        ASSERT_EQ(status_of(client.read_head()), 200) << method;
        if (method != "HEAD") client.expect("ok");
      }
    }
  }
};

TEST_F(ScarceOrigin, EveryClientIsServedInItsTurn) {
  for (const std::uint32_t workers : {1U, 2U}) {
    for (const TurnsAway how : {TurnsAway::refuses, TurnsAway::ends, TurnsAway::resets}) {
      SCOPED_TRACE(fmt::format("{} workers, {}", workers, static_cast<int>(how)));
      given.settings.workers = workers;
      LimitedOrigin limited(3, how);
      std::vector<std::string> methods = {"GET", "HEAD", "GET"};
      if (how == TurnsAway::refuses) methods.emplace_back("POST");  // nothing of it was sent in vain
      ask_in_turn(limited, 5, methods);
      EXPECT_LE(limited.most_seen(), 3U);
      EXPECT_GT(counter(&Counters::upstream_waits_total), 0U);
    }
  }
}

// Of an origin that nothing else of ours is connected to.
TEST_F(ScarceOrigin, ARefusalIsAnErrorAtOnceWhereNoPlaceCanBecomeFree) {
  const std::uint16_t closed = closed_port();
  for (const char* method : {"GET", "POST"}) {
    auto client = new_client(request(method, "127.0.0.1:" + std::to_string(closed), "/", length_field(0)));
    EXPECT_EQ(status_of(client.read_head()), 502) << method;
  }
  auto [client, server, asked] = exchange();
  server.close();
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_EQ(counter(&Counters::upstream_waits_total), 0U);
}

// That others are connected to, which need what they have.
TEST_F(ScarceOrigin, AWaitEndsWithTheTimeForConnecting) {
  given.settings.timeouts.connect = std::chrono::milliseconds(300);
  LimitedOrigin limited(1, TurnsAway::refuses);
  auto tunnel = new_client("CONNECT " + limited.authority() + " HTTP/1.1\r\nHost: " + limited.authority() + "\r\n\r\n");
  EXPECT_EQ(status_of(tunnel.read_head()), 200);
  auto client = new_client(request("GET", limited.authority(), "/"));
  EXPECT_EQ(status_of(client.read_head()), 502);
  EXPECT_EQ(counter(&Counters::upstream_waits_total), 1U);
}

// An origin may have failed over the request.
TEST_F(ScarceOrigin, ARequestWhoseConnectionsEndIsSentAFewTimesAtMost) {
  auto [other, held, asked] = exchange();
  auto client = new_client(get_origin("/fatal"));
  for (unsigned i = 0; i <= proxy::PlaceWait::kMostEnded; ++i) {
    auto server = origin.accept();
    EXPECT_TRUE(server.read_head().starts_with("GET /fatal "));
    server.close();
  }
  EXPECT_EQ(status_of(client.read_head()), 502);
  answer(held, other, "of another request");
}

TEST(OriginPlaces, AreWantedWhileSomebodyWaits) {
  proxy::OriginPlaces places;
  places.enter("a");
  places.enter("a");
  EXPECT_EQ(places.workers_at("a"), 2U);
  EXPECT_EQ(places.workers_at("b"), 0U);
  places.want("a");
  places.want("a");
  places.unwant("a");
  EXPECT_TRUE(places.is_wanted("a"));
  EXPECT_FALSE(places.is_wanted("b"));
  places.unwant("a");
  EXPECT_FALSE(places.is_wanted("a"));
  places.leave("a");
  places.leave("a");
  EXPECT_EQ(places.workers_at("a"), 0U);
}

}  // namespace
}  // namespace bloomwall::test
