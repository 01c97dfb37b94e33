// Reload, drain and what the log says of it all.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <string>

#include "tests/proxy/worker/proxy_fixture.h"

namespace bloomwall::test {
namespace {

using namespace std::chrono_literals;
using Reload = ProxyTest;
using Drain = ProxyTest;
using Log = ProxyTest;

TEST_F(Reload, VerdictsFollowTheNewListAndWhatRunsRunsOn) {
  given.list = "blocked.test\n";
  auto [download, server, asked] = exchange(get(at("ok.test")));
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
  download.read_head();
  download.expect("first");
  auto keep = new_client(get(at("blocked.test")));
  EXPECT_EQ(status_of(read_answer(keep).head), 403);

  given.list = "ok.test\n";
  reload();
  server.send("later");
  download.expect("later");
  download.send(get(at("ok.test")));
  EXPECT_EQ(status_of(download.read_head()), 403) << "the same connection, the next request";
  keep.send(get(at("blocked.test")));
  auto now_free = origin.accept();
  now_free.read_head();
  answer(now_free, keep, "free");
}

// A connection that is busy during the reload leads where names, or the parent, led before.
TEST_F(Reload, WhatWasDialledOnOtherRoutesCarriesNoOtherRequest) {
  auto [client, server, asked] = exchange(get(at("ok.test"), "/1"));
  reload();
  answer(server, client, "one");
  rest(server);
  client.send(get(at("ok.test"), "/2"));
  EXPECT_TRUE(server.read_head().starts_with("GET /2 ")) << "nothing that leads anywhere has changed";
  given.settings.dns.hosts["ok.test"] = "127.0.0.2";
  reload();
  answer(server, client, "two");
  server.expect_end();

  given.settings.upstream.parent = origin.authority();
  reload();
  client.send(get(at("ok.test"), "/3"));
  auto parent = origin.accept();
  parent.read_head();
  given.settings.upstream.credentials_file = dir.write("credentials", "proxy:secret\n");
  reload();
  answer(parent, client, "three");
  parent.expect_end();
}

TEST_F(Drain, RequestsFinishAndWhoSaysNothingIsClosed) {
  given.settings.timeouts.request_header = 1s;  // until then all others have come
  auto silent = new_client();
  auto [busy, server, asked] = exchange();
  auto [near, far] = tunnel();
  wait_for_counter(&Counters::client_connections_active, 3);
  the_proxy().drain(20s);
  silent.expect_end();
  near.send("still");
  far.expect("still");
  server.send(ok("finished"));
  EXPECT_EQ(field_of(busy.read_head(), "Connection"), "close");
  busy.expect("finished");
  busy.expect_end();
  EXPECT_FALSE(the_proxy().ended());
  near.close();
  far.expect_end();
  far.close();
  wait_until_ended();
  EXPECT_TRUE(the_proxy().ended());
}

TEST_F(Drain, WhoHasNotSpokenYetAndWhoIsIdleMayStillAsk) {
  auto fresh = new_client();
  auto kept = new_client(get("ok.test:2"));
  read_answer(kept);
  wait_for_counter(&Counters::client_connections_idle, 2);
  the_proxy().drain(20s);
  for (ScriptedPeer* const client : {&fresh, &kept}) {
    client->send(get("ok.test:2"));
    const Answer last = read_answer(*client);
    EXPECT_EQ(status_of(last.head), 502);
    EXPECT_EQ(field_of(last.head, "Connection"), "close");
    client->expect_end();
  }
  wait_until_ended();
}

// The answer before it did not say that it would be the last.
TEST_F(Drain, ARequestThatHasArrivedBehindARunningAnswerIsAnswered) {
  auto [client, server, asked] = exchange();
  server.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha");
  EXPECT_EQ(field_of(client.read_head(), "Connection"), "");
  client.expect("ha");
  client.send(get("ok.test:2") + get("ok.test:2"));
  the_proxy().drain(20s);
  EXPECT_TRUE(origin.nobody_comes_for(30ms));
  server.send("lf");
  client.expect("lf");
  const Answer last = read_answer(client);
  EXPECT_EQ(status_of(last.head), 502);
  EXPECT_EQ(field_of(last.head, "Connection"), "close");
  client.expect_end();
  wait_until_ended();
}

// Likewise, of one that arrives when that answer has ended.
TEST_F(Drain, WhoWasNotToldOfTheEndMayAskOnceMoreInTime) {
  given.settings.timeouts.request_header = 1s;  // until then all others have come
  given.settings.timeouts.idle = 10min;
  auto silent = new_client();
  auto [quick, first, asked] = exchange();
  auto [slow, second, asked_too] = exchange();
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha";
  for (ScriptedPeer* const server : {&first, &second}) server->send(half);
  for (ScriptedPeer* const client : {&quick, &slow}) {
    EXPECT_EQ(field_of(client->read_head(), "Connection"), "");
    client->expect("ha");
  }
  wait_for_counter(&Counters::client_connections_active, 3);
  the_proxy().drain(10min);
  silent.expect_end();  // the drain has begun
  for (ScriptedPeer* const server : {&first, &second}) server->send("lf");
  for (ScriptedPeer* const client : {&quick, &slow}) client->expect("lf");
  wait_for_counter(&Counters::client_connections_idle, 2);
  quick.send(get("ok.test:2"));
  const Answer last = read_answer(quick);
  EXPECT_EQ(status_of(last.head), 502);
  EXPECT_EQ(field_of(last.head, "Connection"), "close");
  quick.expect_end();
  slow.expect_end();
  wait_until_ended();
}

TEST_F(Drain, AnIdleOneIsClosedAtTheDeadlineAtTheLatest) {
  auto kept = new_client(get("ok.test:2"));
  read_answer(kept);
  the_proxy().drain(150ms);
  kept.expect_end();
  wait_until_ended();
  EXPECT_EQ(the_proxy().cut().requests, 0U);
}

TEST_F(Drain, AnnouncedAnswersCloseAndNewClientsAreServed) {
  auto kept = new_client(get("ok.test:2"));
  read_answer(kept);
  the_proxy().announce();
  for (int i = 0; i < 3; ++i) {
    ScriptedPeer client = i == 0 ? std::move(kept) : new_client();
    client.send(get("ok.test:2"));
    EXPECT_EQ(field_of(read_answer(client).head, "Connection"), "close");
    client.expect_end();
  }
  EXPECT_FALSE(the_proxy().ended()) << "although nobody is connected";
  the_proxy().drain(20s);
  wait_until_ended();
}

TEST_F(Drain, WhatIsLeftIsCutAtTheDeadline) {
  auto [client, server] = tunnel();
  auto [busy, slow, asked] = exchange();
  the_proxy().drain(150ms);
  client.expect_end();
  server.expect_end();
  wait_until_ended();
  EXPECT_EQ(the_proxy().cut().tunnels, 1U);
  EXPECT_EQ(the_proxy().cut().requests, 1U);
}

TEST_F(Log, EachRequestHasOneLine) {
  given.logged = true;
  given.list = "blocked.test\n";
  auto [client, server, asked] = exchange(get_origin("/logged?q=1"));
  answer(server, client, "hello");
  client.send(get("blocked.test", "/denied"));
  read_answer(client);
  auto in_tunnel = new_client(connect_to(origin.authority()) + "x");
  origin.accept().expect("x");
  in_tunnel.read_head();
  in_tunnel.close();
  client.close();
  wait_for_counter(&Counters::client_connections_active, 0);
  const std::string log = log_text();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3) << log;
  EXPECT_NE(log.find("/logged?q=1"), std::string::npos) << log;
  EXPECT_NE(log.find("\"testlist\""), std::string::npos) << log;
  EXPECT_NE(log.find("CONNECT"), std::string::npos) << log;
  EXPECT_NE(log.find("\"outbound_remote_addr\":\"" + origin.authority() + "\""), std::string::npos) << log;
}

// Refused by the head's grammar, by the canonical form, and by access.strict_path.
TEST_F(Log, ATargetThatIsNoneIsARejection) {
  given.logged = true;
  given.settings.access.strict_path = true;
  for (const std::string target : {"http://ok.test/a\\b", "http://300.1.1.1/", "http://ok.test/a%252fb"}) {
    EXPECT_EQ(status_of(reply_to("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")), 400) << target;
  }
  wait_for_counter(&Counters::client_connections_active, 0);
  std::size_t rejected = 0;
  std::istringstream log(log_text());
  for (std::string line; std::getline(log, line); ++rejected) {
    EXPECT_NE(line.find(R"("allow":false,"decision":"rejected","decision_reason":"bad_url")"), std::string::npos)
        << line;
  }
  EXPECT_EQ(rejected, 3U);
  std::uint64_t counted = 0;
  const auto all = counters();
  for (const auto& method : all->requests) {
    counted += method[static_cast<std::size_t>(filter::Decision::rejected)]
                     [static_cast<std::size_t>(filter::VerdictReason::bad_url)]
                         .get();
  }
  EXPECT_EQ(counted, 3U);
}

}  // namespace
}  // namespace bloomwall::test
