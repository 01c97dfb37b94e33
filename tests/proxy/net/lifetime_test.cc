// Reload, drain and what the log says of it all.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>

#include "tests/proxy/net/proxy_harness.h"

namespace bloomwall::test {
namespace {

using proxy::Counters;

TEST(Reload, VerdictsFollowTheNewListAndWhatRunsRunsOn) {
  HarnessOptions options;
  options.list = "blocked.test\n";
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  const std::string port = std::to_string(origin.port());
  auto download = proxy.client();
  download.send(get("ok.test:" + port));
  auto server = origin.accept();
  server.read_head();
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
  download.read_head();
  download.expect("first");
  auto keep = proxy.client();
  keep.send(get("blocked.test:" + port));
  std::string head = keep.read_head();
  EXPECT_EQ(status_of(head), 403);
  keep.read_exactly(std::stoul(field_of(head, "Content-Length")));

  proxy.reload_list("ok.test\n");
  server.send("later");
  download.expect("later");
  download.send(get("ok.test:" + port));
  EXPECT_EQ(status_of(download.read_head()), 403) << "the same connection, the next request";
  keep.send(get("blocked.test:" + port));
  auto now_free = origin.accept();
  now_free.read_head();
  now_free.send(ok("free"));
  EXPECT_EQ(status_of(keep.read_head()), 200);
}

TEST(Drain, IdleOnesCloseAtOnceAndRequestsFinish) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto idle = proxy.client();
  auto busy = proxy.client();
  busy.send(get(origin.authority()));
  auto server = origin.accept();
  server.read_head();
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()));
  auto far = origin.accept();
  tunnel.read_head();
  proxy.wait_for_counter(&Counters::client_connections_active, 3);
  proxy.server().drain(std::chrono::seconds(20));
  idle.expect_end();
  tunnel.send("still");
  far.expect("still");
  server.send(ok("finished"));
  const std::string head = busy.read_head();
  EXPECT_EQ(field_of(head, "Connection"), "close");
  busy.expect("finished");
  busy.expect_end();
  EXPECT_FALSE(proxy.server().ended());
  tunnel.close();
  far.expect_end();
  far.close();
  proxy.server().wait();
  EXPECT_TRUE(proxy.server().ended());
}

TEST(Drain, WhatIsLeftIsCutAtTheDeadline) {
  ProxyHarness proxy;
  ScriptedListener origin;
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()));
  auto far = origin.accept();
  tunnel.read_head();
  proxy.server().drain(std::chrono::milliseconds(150));
  tunnel.expect_end();
  far.expect_end();
  proxy.server().wait();
}

TEST(Log, EachRequestHasOneLine) {
  HarnessOptions options;
  options.settings.log.access.file = "file";
  options.list = "blocked.test\n";
  ProxyHarness proxy(std::move(options));
  ScriptedListener origin;
  auto client = proxy.client();
  client.send(get(origin.authority(), "/logged?q=1"));
  auto server = origin.accept();
  server.read_head();
  server.send(ok("hello"));
  client.read_head();
  client.expect("hello");
  client.send(get("blocked.test", "/denied"));
  const std::string head = client.read_head();
  client.read_exactly(std::stoul(field_of(head, "Content-Length")));
  auto tunnel = proxy.client();
  tunnel.send(connect_to(origin.authority()) + "x");
  origin.accept().expect("x");
  tunnel.read_head();
  tunnel.close();
  client.close();
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  const std::string log = proxy.log_text();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3) << log;
  EXPECT_NE(log.find("/logged?q=1"), std::string::npos) << log;
  EXPECT_NE(log.find("\"testlist\""), std::string::npos) << log;
  EXPECT_NE(log.find("CONNECT"), std::string::npos) << log;
  EXPECT_NE(log.find("\"outbound_remote_addr\":\"" + origin.authority() + "\""), std::string::npos) << log;
}

// Refused by the head's grammar, by the canonical form, and by access.strict_path.
TEST(Log, ATargetThatIsNoneIsARejection) {
  HarnessOptions options;
  options.settings.log.access.file = "file";
  options.settings.access.strict_path = true;
  ProxyHarness proxy(std::move(options));
  for (const char* target : {"http://ok.test/a\\b", "http://300.1.1.1/", "http://ok.test/a%252fb"}) {
    auto client = proxy.client();
    client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_of(client.read_head()), 400) << target;
  }
  proxy.wait_for_counter(&Counters::client_connections_active, 0);
  std::size_t rejected = 0;
  std::istringstream log(proxy.log_text());
  for (std::string line; std::getline(log, line); ++rejected) {
    EXPECT_NE(line.find(R"("allow":false,"decision":"rejected","decision_reason":"bad_url")"), std::string::npos)
        << line;
  }
  EXPECT_EQ(rejected, 3U);
  auto counters = std::make_unique<Counters>();
  proxy.server().add_counters_to(*counters);
  std::uint64_t counted = 0;
  for (const auto& method : counters->requests) {
    counted += method[static_cast<std::size_t>(filter::Decision::rejected)]
                     [static_cast<std::size_t>(filter::VerdictReason::bad_url)]
                         .get();
  }
  EXPECT_EQ(counted, 3U);
}

}  // namespace
}  // namespace bloomwall::test
