// The real program while its name server says nothing to one client's thousands of names.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/end_to_end/servers.h"
#include "tests/support/http_text.h"
#include "tests/support/scripted_dns.h"
#include "tests/support/scripted_peer.h"

namespace bloomwall::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNames = 4000;
constexpr std::chrono::seconds kSoon{3};

class SilentDns : public testing::Test {
 protected:
  SilentDns() {
    for (int i = 0; i < kNames; ++i) dns_.set(name(i), {.silent = true});
    dns_.set("fine.test", {.v4 = {"127.0.0.1"}});
  }
  static std::string name(int i) { return "n" + std::to_string(i) + ".silent.test"; }
  std::string yaml() const {
    return "workers: 1\naccess: {deny_destinations: [], connect_ports: []}\ndns: {servers: [\"" + dns_.address() +
           "\"], hosts: {static.test: 127.0.0.1}}\nlog: {access: {file: off}}\n";
  }
  // A client of its own asks the origin by this name and is answered; how long that took.
  Clock::duration served(std::uint16_t proxy, const std::string& host, const std::string& ip) {
    const auto begin = Clock::now();
    auto client = ScriptedPeer::connect_from(ip, proxy);
    client.send(get(host + ":" + std::to_string(origin_.port())));
    auto server = origin_.accept();
    server.read_head();
    server.send(ok("x"));
    EXPECT_EQ(status_of(client.read_head()), 200) << host;
    return Clock::now() - begin;
  }
  ScriptedDns dns_;
  ScriptedListener origin_;
  const TempDir folder_;
};

TEST_F(SilentDns, OneClientsNamesStallNobodyElse) {
  const Proxy proxy(folder_, yaml());
  std::vector<ScriptedPeer> greedy;
  for (int i = 0; i < kNames; ++i) {
    auto client = ScriptedPeer::connect(proxy.port());
    client.send(get(name(i)));
    if (i % 8 == 0) greedy.push_back(std::move(client));  // the others leave without waiting
  }
  served(proxy.port(), "127.0.0.1", "127.0.0.2");  // comes behind all of them: on a busy machine they take their time
  for (const char* const host : {"127.0.0.1", "static.test", "fine.test"}) {
    EXPECT_LT(served(proxy.port(), host, "127.0.0.2"), kSoon) << host;
  }
}

}  // namespace
}  // namespace bloomwall::test
