// Nobody gets another's answer: origins that send octets nobody asked for - a body after HEAD, 204 or 304, an answer too
// many, at once or late - and many clients that share the connections to them. Every answer carries the number of the
// request that it is for.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/servers.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

#ifdef BLOOMWALL_SANITIZED
constexpr unsigned kExchanges = 4'000;
#else
constexpr unsigned kExchanges = 100'000;
#endif
constexpr unsigned kClients = 8;
constexpr unsigned kOneIn = 4;  // requests to an origin with a quirk that meet it

// What an origin does wrong. Each has a host of its own, so that the clean ones stay trusted.
struct Quirk {
  const char* name;
  const char* method;
};
constexpr std::array kQuirks{
    Quirk{"clean", "GET"},          Quirk{"cleanchunked", "GET"},     Quirk{"headbody", "HEAD"},
    Quirk{"headbodylater", "HEAD"}, Quirk{"headunframed", "HEAD"},    Quirk{"nocontent", "GET"},
    Quirk{"notmodified", "GET"},    Quirk{"notmodifiedpost", "POST"}, Quirk{"tooshort", "GET"},
    Quirk{"tooshortlater", "GET"},  Quirk{"chunkedsurplus", "GET"},   Quirk{"chunkedlater", "GET"},
    Quirk{"late", "GET"},           Quirk{"hintswithbody", "GET"},    Quirk{"bodyisrequest", "POST"},
    Quirk{"options", "OPTIONS"},    Quirk{"delete", "DELETE"},
};

std::string whole(const std::string& id, const std::string& text) {
  return fmt::format("HTTP/1.1 200 OK\r\nX-Id: {}\r\nContent-Length: {}\r\n\r\n{}", id, text.size(), text);
}
std::string chunked(const std::string& id, const std::string& text) {
  return fmt::format("HTTP/1.1 200 OK\r\nX-Id: {}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n", id,
                     text.size(), text);
}
std::string bare(const char* status, const std::string& id, const std::string& more = {}) {
  return fmt::format("HTTP/1.1 {}\r\nX-Id: {}\r\n{}\r\n", status, id, more);
}

// Serves every connection on a thread of its own. The path says what to do: /ID/QUIRK/MILLISECONDS.
class QuirkyOrigin {
 public:
  QuirkyOrigin() : acceptor_([this] { accept(); }) {}
  ~QuirkyOrigin() {
    stopping_ = true;
    ScriptedPeer::connect(listener_.port()).close();
    acceptor_.join();
    while (serving_ > 0) std::this_thread::yield();  // until the proxy's end, or its patience's
  }
  std::uint16_t port() const { return listener_.port(); }

 private:
  void accept() {
    while (!stopping_) {
      try {
        auto peer = std::make_shared<ScriptedPeer>(listener_.accept());
        ++serving_;
        std::thread([this, peer] {
          serve(*peer);
          --serving_;
        }).detach();
      } catch (const std::exception&) {  // nobody came for a while
      }
    }
  }

  void serve(ScriptedPeer& peer) {
    try {
      while (!stopping_) answer(peer, peer.read_head());
    } catch (const std::exception&) {  // the proxy has closed it, or has left it idle
    }
  }

  static void answer(ScriptedPeer& peer, const std::string& head) {
    const std::size_t slash = head.find(" /") + 2;
    const std::size_t second = head.find('/', slash), third = head.find('/', second + 1);
    const std::string id = head.substr(slash, second - slash), quirk = head.substr(second + 1, third - second - 1);
    const int delay = std::stoi(head.substr(third + 1));
    const bool swallow = quirk != "bodyisrequest";  // else what it does not read is its next request
    if (const std::string length = field_of(head, "Content-Length"); swallow && !length.empty()) {
      peer.read_exactly(std::stoul(length));
    }
    const std::string body = "body of " + id, poison = whole("poison-" + id, "poison of " + id);
    const std::string length = length_field(poison.size());
    const auto later = [&](const std::string& first, const std::string& then) {
      peer.send(first);
      if (delay > 0) ::poll(nullptr, 0, delay);
      peer.send(then);
    };
    if (quirk == "headbody") return peer.send(bare("200 OK", id, length) + poison);
    if (quirk == "headbodylater") return later(bare("200 OK", id, length), poison);
    if (quirk == "headunframed") return later(bare("200 OK", id), poison);
    if (quirk == "nocontent") return later(bare("204 No Content", id), poison);
    if (quirk == "notmodified" || quirk == "notmodifiedpost") {
      return later(bare("304 Not Modified", id, length), poison);
    }
    if (quirk == "tooshort") return peer.send(whole(id, body) + poison);
    if (quirk == "tooshortlater") return later(whole(id, body), poison);
    if (quirk == "chunkedsurplus") return peer.send(chunked(id, body) + poison);
    if (quirk == "chunkedlater" || quirk == "late") return later(chunked(id, body), poison);
    if (quirk == "hintswithbody") {
      return later("HTTP/1.1 103 Early Hints\r\n" + length + "\r\n" + whole(id, body), poison);
    }
    if (quirk == "cleanchunked") return peer.send(chunked(id, body));
    if (head.starts_with("HEAD ")) return peer.send(bare("200 OK", id, length_field(body.size())));
    peer.send(whole(id, body));
  }

  ScriptedListener listener_;
  std::atomic<bool> stopping_ = false;
  std::atomic<unsigned> serving_ = 0;
  std::thread acceptor_;
};

struct Tally {
  std::atomic<unsigned> asked = 0, answered = 0, own_errors = 0, crossed = 0;
  std::mutex mutex;
  std::vector<std::string> examples;
  void cross(const std::string& what) {
    ++crossed;
    const std::lock_guard lock(mutex);
    if (examples.size() < 10) examples.push_back(what);
  }
};

class Asker {
 public:
  Asker(std::uint16_t proxy, std::uint16_t origin, unsigned number, unsigned seed, Tally& tally)
      : proxy_(proxy), origin_(origin), number_(number), random_(seed + number), tally_(tally) {}

  void run() {
    auto client = ScriptedPeer::connect(proxy_);
    while (tally_.asked.fetch_add(1) < kExchanges) {
      try {
        if (ask(client)) continue;
      } catch (const std::exception&) {  // cut off: nobody's answer
      }
      client = ScriptedPeer::connect(proxy_);
    }
  }

 private:
  // False: the connection is over.
  bool ask(ScriptedPeer& client) {
    const Quirk& quirk = kQuirks[random_() % kQuirks.size()];
    const bool meets = random_() % kOneIn == 0;
    const std::string id = fmt::format("c{}n{}", number_, ++serial_);
    const std::string authority = fmt::format("{}.test:{}", quirk.name, origin_);
    constexpr std::array kLate{1, 5, 30};
    const int delay = std::string_view(quirk.name) == "late" ? kLate[random_() % kLate.size()] : 0;
    const std::string path = fmt::format("/{}/{}/{}", id, meets ? quirk.name : "clean", delay);
    const bool is_post = std::string_view(quirk.method) == "POST";
    const std::string inner = is_post ? fmt::format("GET /poison-{}/clean/0 HTTP/1.1\r\nHost: x\r\n\r\n", id) : "";
    client.send(request(quirk.method, authority, path, is_post ? length_field(inner.size()) : "", inner));
    return check(client, quirk, id);
  }

  bool check(ScriptedPeer& client, const Quirk& quirk, const std::string& id) {
    std::string head = client.read_head();
    while (status_of(head) < 200) head = client.read_head();
    const int status = status_of(head);
    const std::string got = field_of(head, "X-Id");
    if (got == id) {
      ++tally_.answered;
    } else if (field_of(head, "Proxy-Status").empty()) {
      tally_.cross(fmt::format("{} {} got {}", quirk.method, id, got.empty() ? head : got));
    } else {
      ++tally_.own_errors;
    }
    const bool no_body = std::string_view(quirk.method) == "HEAD" || status == 204 || status == 304;
    if (!no_body) {
      const std::string body = field_of(head, "Content-Length").empty()
                                   ? client.read_chunked()
                                   : client.read_exactly(std::stoul(field_of(head, "Content-Length")));
      if (got == id && body != "body of " + id) tally_.cross("body: " + body);
    }
    return field_of(head, "Connection") != "close";
  }

  std::uint16_t proxy_, origin_;
  unsigned number_, serial_ = 0;
  std::mt19937 random_;
  Tally& tally_;
};

std::string hosts_yaml() {
  std::string yaml = "dns: {hosts: {";
  for (const Quirk& quirk : kQuirks) yaml += fmt::format("{}.test: 127.0.0.1, ", quirk.name);
  return yaml + "}}\n";
}

std::uint64_t metric(std::uint16_t admin_port, const std::string& name) {
  auto client = ScriptedPeer::connect(admin_port);
  client.send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  const std::string page = client.read_to_end();
  const std::size_t at = page.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stoull(page.substr(at + name.size() + 2));
}

TEST(CrossedAnswers, NobodyGetsAnothers) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const TempDir folder;
  QuirkyOrigin origin;
  Proxy proxy(folder, hosts_yaml() + "workers: 1\naccess: {deny_destinations: []}\nlog: {access: {file: off}}\n",
              Proxy::Admin::on);
  Tally tally;
  std::vector<std::jthread> clients;
  for (unsigned i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] { Asker(proxy.port(), origin.port(), i, seed, tally).run(); });
  }
  clients.clear();
  for (const std::string& example : tally.examples) ADD_FAILURE() << example;
  EXPECT_EQ(tally.crossed, 0U);
  EXPECT_GT(tally.answered, kExchanges / 2);
  EXPECT_GT(metric(proxy.admin_port(), "bloomwall_upstream_reuses_total"), kExchanges / 20) << "the clean are kept";
  RecordProperty("answered", static_cast<int>(tally.answered));
  RecordProperty("own_errors", static_cast<int>(tally.own_errors));
}

}  // namespace
}  // namespace bloomwall::test
