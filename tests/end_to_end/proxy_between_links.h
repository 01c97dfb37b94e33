// The real program in a network of its own, and three places with a link each to it: a client, an origin, and somebody
// beside them. What they say is scripted; what their links do is Link's (networks.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/end_to_end/networks.h"
#include "tests/end_to_end/servers.h"
#include "tests/support/scripted_dns.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

class Stopwatch {
 public:
  std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// A head as clients say it to a proxy; `fields` each with its line's end.
std::string request_head(std::string_view method, const std::string& authority, std::string_view path,
                         std::string_view fields = {}, std::string_view version = "HTTP/1.1");
std::string answer(std::string_view body);  // 200, with a length

// A client, whose connection to the proxy stays, and an origin. The connection to the origin carries the next request
// where it has rested for a moment; otherwise the proxy makes another, and this one ends.
struct Pair {
  ScriptedPeer client;
  std::unique_ptr<ScriptedListener> listener;
  std::optional<ScriptedPeer> origin{};

  bool begin_to_serve(std::string_view head_begins);  // true: on the connection that was there
  void open_tunnel();
  bool exchange(int number);  // a request and its answer, of which no other number has the like; true: as above
};

class ProxyBetweenLinks : public testing::Test {
 protected:
  void SetUp() override;
  // It has one worker, serves everybody here, may go anywhere, and asks names_.
  void start_proxy(const std::string& timeouts);
  void TearDown() override;  // it stops orderly

  static ScriptedPeer call_from(const Link& link);  // connected to the proxy
  static std::unique_ptr<ScriptedListener> listen_at(const Link& link, const std::string& address = {});
  int counter(const std::string& name) const;  // bloomwall_NAME of its metrics, now
  int errors_of(const std::string& kind) const { return counter("errors_total{kind=\"" + kind + "\"}"); }

  const TempDir folder_;
  std::optional<Namespace> hub_;
  std::optional<Link> client_, origin_, beside_;
  std::unique_ptr<ScriptedDns> names_;
  std::unique_ptr<Process> proxy_;
};

}  // namespace bloomwall::test
