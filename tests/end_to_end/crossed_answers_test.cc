// Nobody gets another's answer: origins that send octets nobody asked for - a body after HEAD, 204 or 304, an answer
// too many, at once or late, of hosts that are new and of hosts that are trusted by then - and many clients that share
// the connections to them. Every answer carries the number of the request that it is for. What a client's own request
// has brought too much may reach that client, as it would without a proxy.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/end_to_end/servers.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_peer.h"
#include "tests/support/seed.h"

namespace bloomwall::test {
namespace {

#ifdef BLOOMWALL_SANITIZED
constexpr unsigned kExchanges = 4'000;
#else
constexpr unsigned kExchanges = 100'000;
#endif
constexpr unsigned kAskers = 8;
constexpr unsigned kOneIn = 4;  // requests to an origin with a quirk that meet it

constexpr const char* kReuses = "bloomwall_upstream_reuses_total";
constexpr unsigned kWarm = 40;  // rests that make a host trusted, and some

// What an origin does wrong.
struct Quirk {
  const char* name;
  const char* method;
  bool is_doubtful = true;  // no other client may have a connection after such an answer
  bool has_delay = true;
};
constexpr std::array kQuirks{
    Quirk{"clean", "GET", false, false},
    Quirk{"cleanchunked", "GET", false, false},
    Quirk{"headbody", "HEAD"},
    Quirk{"headunframed", "HEAD"},
    Quirk{"nocontent", "GET"},
    Quirk{"notmodified", "GET"},
    Quirk{"notmodifiedpost", "POST"},
    Quirk{"barelf", "GET"},
    Quirk{"tooshort", "GET", false},
    Quirk{"chunkedsurplus", "GET", false},
    Quirk{"trailers", "GET", false},
    Quirk{"oddtrailers", "GET"},
    Quirk{"answerintrailers", "GET"},
    Quirk{"range", "GET", false},
    Quirk{"oldversion", "GET", false},
    Quirk{"lengthtwice", "GET"},
    Quirk{"closes", "GET"},
    Quirk{"hints", "GET"},
    Quirk{"hintswithbody", "GET"},
    Quirk{"bodyisrequest", "POST"},
    Quirk{"bodyisbeginning", "POST"},
    Quirk{"options", "OPTIONS"},
    Quirk{"delete", "DELETE"},
};
constexpr std::size_t kCleanHosts = 2;                   // the first ones of each, of which connections are kept
constexpr std::array kDelays{0, 1, 30, 300, 900, 1500};  // ms until the octets too many come
constexpr int kRest = 1000;                              // and behind a plain answer they may come later than this

// A host meets one quirk at one delay, or, shared, all that its standing allows. The first octet too many that is seen
// makes it distrusted for minutes, so that there must be many.
struct Host {
  std::string name;
  const Quirk* quirk = nullptr;  // nullptr: shared
  int delay = 0;
  bool is_trusted = false;  // before it meets the first
};

std::vector<Host> make_hosts() {
  constexpr int kShared = 4;
  std::vector<Host> hosts;
  for (const bool trusted : {false, true}) {
    const char* const standing = trusted ? "trusted" : "fresh";
    for (const Quirk& quirk : kQuirks) {
      for (const int delay : kDelays) {
        if ((delay > 0 && !quirk.has_delay) || (delay > kRest && !quirk.is_doubtful)) continue;
        if (trusted && !quirk.is_doubtful) continue;
        hosts.push_back({fmt::format("{}-{}-{}.test", standing, quirk.name, delay), &quirk, delay, trusted});
      }
    }
    for (int i = 0; i < kShared; ++i)
      hosts.push_back({fmt::format("{}-shared-{}.test", standing, i), nullptr, 0, trusted});
  }
  return hosts;
}

std::string framed(const std::string& begin, const std::string& id, const std::string& text) {
  return fmt::format("{}\r\nX-Id: {}\r\nContent-Length: {}\r\n\r\n{}", begin, id, text.size(), text);
}
std::string whole(const std::string& id, const std::string& text) { return framed("HTTP/1.1 200 OK", id, text); }
std::string chunked(const std::string& id, const std::string& text, const std::string& trailers = {}) {
  return fmt::format("HTTP/1.1 200 OK\r\nX-Id: {}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n{}\r\n", id,
                     text.size(), text, trailers);
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
    // Until the proxy's end, or its patience's.
    while (serving_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
    const bool swallow = !quirk.starts_with("bodyis");  // else what it does not read is, or begins, its next request
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
    if (quirk == "headbody") return later(bare("200 OK", id, length), poison);
    if (quirk == "headunframed") return later(bare("200 OK", id), poison);
    if (quirk == "nocontent") return later(bare("204 No Content", id), poison);
    if (quirk == "notmodified" || quirk == "notmodifiedpost") {
      return later(bare("304 Not Modified", id, length), poison);
    }
    if (quirk == "tooshort" || quirk == "options" || quirk == "delete") return later(whole(id, body), poison);
    if (quirk == "chunkedsurplus") return later(chunked(id, body), poison);
    if (quirk == "trailers") return later(chunked(id, body, "X-T: t\r\n"), poison);
    if (quirk == "oddtrailers") return later(chunked(id, body, "X-T : t\r\n folded\r\n"), poison);
    if (quirk == "answerintrailers") {
      const std::size_t end = poison.find("\r\n\r\n") + 2;
      return later(chunked(id, body, poison.substr(0, end)), poison.substr(end + 2) + poison);
    }
    if (quirk == "range") return later(framed("HTTP/1.1 206 Partial Content", id, body), poison);
    if (quirk == "oldversion") return later(framed("HTTP/1.0 200 OK\r\nConnection: keep-alive", id, body), poison);
    if (quirk == "lengthtwice")
      return later(framed("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()), id, body), poison);
    if (quirk == "closes") return later(framed("HTTP/1.1 200 OK\r\nConnection: close", id, body), poison);
    if (quirk == "slow" && delay > 0) ::poll(nullptr, 0, delay);
    if (quirk == "barelf") {
      return later(fmt::format("HTTP/1.1 200 OK\nX-Id: {}\n{}\n\n{}", id,
                               "Content-Length: " + std::to_string(body.size()), body),
                   poison);
    }
    if (quirk == "hints") return later("HTTP/1.1 103 Early Hints\r\n\r\n" + whole(id, body), poison);
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
  std::atomic<unsigned> asked = 0, answered = 0, own_errors = 0, own_surplus = 0, crossed = 0;
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
  Asker(std::uint16_t proxy, std::uint16_t origin, unsigned number, unsigned seed, const std::vector<Host>& hosts,
        Tally& tally)
      : proxy_(proxy), origin_(origin), number_(number), random_(seed + number), hosts_(hosts), tally_(tally) {}

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
  // Clean answers to GET of many clients, which leave as many connections, as long as the host is not trusted.
  void warm() {
    for (unsigned i = 0; i < kWarm; ++i) {
      auto client = ScriptedPeer::connect(proxy_);
      for (const Host& host : hosts_) {
        if (host.is_trusted && !exchange(client, host, kQuirks.front(), false)) throw std::runtime_error("it closed");
      }
    }
  }

 private:
  bool ask(ScriptedPeer& client) {
    const std::size_t among = random_() % 2 == 0 ? kCleanHosts : hosts_.size();
    const Host& host = hosts_[random_() % among];
    const Quirk* quirk = host.quirk;
    while (quirk == nullptr) {
      quirk = &kQuirks[random_() % kQuirks.size()];
      if (host.is_trusted && !quirk->is_doubtful) quirk = nullptr;
    }
    return exchange(client, host, *quirk, random_() % kOneIn == 0);
  }
  // False: the connection is over.
  bool exchange(ScriptedPeer& client, const Host& host, const Quirk& quirk, bool meets) {
    const std::string id = fmt::format("c{}n{}", number_, ++serial_);
    const std::string authority = fmt::format("{}:{}", host.name, origin_);
    int delay = host.quirk != nullptr ? host.delay : kDelays[random_() % kDelays.size()];
    if (delay > kRest && !quirk.is_doubtful) delay = kRest / 2;
    const std::string path = fmt::format("/{}/{}/{}", id, meets ? quirk.name : "clean", delay);
    const char* const method = meets ? quirk.method : "GET";
    const bool is_post = std::string_view(method) == "POST";
    const bool is_whole = quirk.name != std::string_view("bodyisbeginning");  // else the next request goes on with it
    const std::string hidden = fmt::format("GET /poison-{}/slow/{}", id, delay);
    const std::string inner = !is_post ? "" : is_whole ? hidden + " HTTP/1.1\r\nHost: x\r\n\r\n" : hidden + "/?";
    client.send(request(method, authority, path, is_post ? length_field(inner.size()) : "", inner));
    return check(client, method, id);
  }

  bool check(ScriptedPeer& client, std::string_view method, const std::string& id) {
    std::string head = client.read_head();
    while (status_of(head) < 200) head = client.read_head();
    const int status = status_of(head);
    const std::string got = field_of(head, "X-Id");
    if (got == id) {
      ++tally_.answered;
    } else if (got.starts_with(fmt::format("poison-c{}n", number_)) || got.starts_with(fmt::format("c{}n", number_))) {
      ++tally_.own_surplus;
    } else if (field_of(head, "Proxy-Status").empty()) {
      tally_.cross(fmt::format("{} {} got {}", method, id, got.empty() ? head : got));
    } else {
      ++tally_.own_errors;
    }
    const bool no_body = method == "HEAD" || status == 204 || status == 304;
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
  const std::vector<Host>& hosts_;
  Tally& tally_;
};

std::string hosts_yaml(const std::vector<Host>& hosts) {
  std::string yaml = "dns: {hosts: {";
  for (const Host& host : hosts) yaml += host.name + ": 127.0.0.1, ";
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
  const std::uint32_t seed = test_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const TempDir folder;
  QuirkyOrigin origin;
  ScriptedListener nothing;
  const std::vector<Host> hosts = make_hosts();
  Proxy proxy(folder,
              hosts_yaml(hosts) +
                  "workers: 1\naccess: {deny_destinations: []}\nlog: {access: {file: off}}\n"
                  "limits: {pooled_per_origin: 40}\n",
              Proxy::Admin::on);
  Tally tally;
  for (int round = 0; round < 2; ++round) {
    Asker(proxy.port(), origin.port(), kAskers + static_cast<unsigned>(round), seed, hosts, tally).warm();
    ASSERT_TRUE(nothing.nobody_comes_for(std::chrono::milliseconds(1050))) << "they rest";
  }
  const std::uint64_t warm = metric(proxy.admin_port(), kReuses);
  const auto trusted = std::count_if(hosts.begin(), hosts.end(), [](const Host& host) { return host.is_trusted; });
  EXPECT_GE(warm, 32 * static_cast<std::uint64_t>(trusted)) << "each rested 32 times";
  std::vector<std::jthread> clients;
  for (unsigned i = 0; i < kAskers; ++i) {
    clients.emplace_back([&, i] { Asker(proxy.port(), origin.port(), i, seed, hosts, tally).run(); });
  }
  clients.clear();
  for (const std::string& example : tally.examples) ADD_FAILURE() << example;
  EXPECT_EQ(tally.crossed, 0U);
  EXPECT_GT(tally.answered, kExchanges / 2);
  EXPECT_GT(metric(proxy.admin_port(), kReuses), warm + kExchanges / 8) << "the clean are kept";
  RecordProperty("answered", static_cast<int>(tally.answered));
  RecordProperty("own_surplus", static_cast<int>(tally.own_surplus));
  RecordProperty("own_errors", static_cast<int>(tally.own_errors));
}

}  // namespace
}  // namespace bloomwall::test
