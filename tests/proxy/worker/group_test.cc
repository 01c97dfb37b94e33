// Groups of clients and their schedules in the running proxy.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/time_zone.h"
#include "base/units.h"
#include "tests/proxy/tls/hello_maker.h"
#include "tests/proxy/worker/proxy_fixture.h"
#include "tests/support/http_text.h"

namespace bloomwall::test {
namespace {

using conf::Group;

constexpr Instant kMondayMidnight = 1'795'392'000;  // 2026-11-23 00:00 UTC
constexpr Instant kLessons = kMondayMidnight + 9 * 3600, kBreak = kMondayMidnight + 13 * 3600;

conf::Group group(const std::string& name, const std::vector<std::string>& clients) {
  conf::Group made;
  made.name = name;
  made.clients = clients;
  return made;
}

class Groups : public ProxyTest {
 protected:
  Groups() {
    given.list = "blocked.test\n";
    given.logged = true;
    given.settings.time_zone = "UTC";
    given.settings.schedules = {{.name = "lessons", .times = {"mon-fri 08:00-12:00"}, .except = {}, .time_zone = {}}};
    given.at = kBreak;
  }
  ScriptedPeer client_from(const std::string& ip, const std::string& text) {
    auto client = ScriptedPeer::connect_from(ip, the_proxy().addresses().front().port());
    client.send(text);
    return client;
  }
  // 200 where the origin was asked.
  int status(const std::string& ip, const std::string& host) {
    auto client = client_from(ip, get(at(host), "/", "Accept: application/json\r\n"));
    if (!origin.speaks_first(client)) {
      auto server = origin.accept();
      server.read_head();
      answer(server, client, "x");
      return 200;
    }
    const Answer refused = read_answer(client);
    body = refused.body;
    return status_of(refused.head);
  }
  int connect_status(const std::string& ip, const std::string& host) {
    auto client = client_from(ip, connect_to(at(host)));
    head = client.read_head();
    return status_of(head);
  }
  Tunnel tunnel_from(const std::string& ip, const std::string& host) {
    auto client = client_from(ip, connect_to(at(host)));
    auto server = origin.accept();
    EXPECT_EQ(status_of(client.read_head()), 200);
    return {std::move(client), std::move(server)};
  }
  // Once there are so many of them.
  std::vector<nlohmann::json> log_lines(std::size_t count) {
    std::vector<nlohmann::json> lines;
    wait_until([&] {
      std::istringstream in(log_text());
      lines.clear();
      for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
      return lines.size() >= count;
    });
    return lines;
  }
  std::string body, head;
};

TEST_F(Groups, EachDoesWithAFilterWhatItSays) {
  given.settings.groups = {group("strict", {"127.0.0.2"}), group("open", {"127.0.0.3"}),
                           group("watched", {"127.0.0.4"})};
  given.settings.groups[1].filters["testlist"].otherwise = Group::Action::off;
  given.settings.groups[2].filters["testlist"].otherwise = Group::Action::monitor;
  EXPECT_EQ(status("127.0.0.2", "blocked.test"), 403);
  const auto page = nlohmann::json::parse(body);
  EXPECT_EQ(page.at("group"), "strict");
  EXPECT_EQ(page.at("filter"), "testlist");
  EXPECT_EQ(status("127.0.0.3", "blocked.test"), 200);
  EXPECT_EQ(status("127.0.0.4", "blocked.test"), 200);
  EXPECT_EQ(status("127.0.0.1", "blocked.test"), 403) << "in no group";
  const auto lines = log_lines(4);
  const char* const groups[] = {"strict", "open", "watched", "default"};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(lines[i].at("group"), groups[i]);
  EXPECT_EQ(lines[1].at("decision_reason"), "unlisted");
  EXPECT_EQ(lines[2].at("decision"), "monitored");
  EXPECT_TRUE(lines[2].at("enforce_would_deny"));
  EXPECT_EQ(counters()->filters.get("testlist", filter::FilterAction::block), 2U);
  EXPECT_EQ(counters()->filters.get("testlist", filter::FilterAction::monitor), 1U);
}

// Each day from an hour before now until `end`, two hours from now.
class BlockedForATime : public Groups {
 protected:
  BlockedForATime() {
    const Instant now = proxy::instant_now() / 60 * 60;
    end = now + 2 * 3600;
    given.at = proxy::instant_now();
    const auto clock = [](Instant at) { return wall_clock(at, TimeZone()).substr(11, 5); };
    given.settings.schedules.push_back(
        {.name = "bedtime", .times = {clock(now - 3600) + "-" + clock(end)}, .except = {}, .time_zone = {}});
    given.settings.groups = {group("children", {"127.0.0.2"})};
  }
  nlohmann::json page_of(const std::string& host) {
    EXPECT_EQ(status("127.0.0.2", host), 403);
    return nlohmann::json::parse(body);
  }
  Instant end = 0;
};

TEST_F(BlockedForATime, ByOtherwiseUntilTheScheduleEnds) {
  given.settings.groups[0].otherwise.by_schedule = {{"bedtime", conf::Otherwise::deny}};
  const auto page = page_of("ok.test");
  EXPECT_EQ(page.at("reason"), "default_deny");
  EXPECT_EQ(page.at("until"), format_time(static_cast<std::uint64_t>(end)));
  EXPECT_EQ(page.at("schedule"), "bedtime");
}

TEST_F(BlockedForATime, ByAFilterUntilTheScheduleEnds) {
  given.settings.groups[0].filters["testlist"].by_schedule = {{"bedtime", Group::Action::block}};
  given.settings.groups[0].filters["testlist"].otherwise = Group::Action::off;
  const auto page = page_of("blocked.test");
  EXPECT_EQ(page.at("until"), format_time(static_cast<std::uint64_t>(end)));
  EXPECT_EQ(page.at("schedule"), "bedtime");
}

TEST_F(BlockedForATime, WhatBlocksByThenAsWellHasNoEnd) {
  given.settings.groups[0].filters["testlist"].otherwise = Group::Action::block;
  given.settings.groups[0].otherwise.by_schedule = {{"bedtime", conf::Otherwise::deny}};
  EXPECT_FALSE(page_of("blocked.test").contains("until"));
}

TEST_F(BlockedForATime, NorHasWhatIsDeniedAlways) {
  given.settings.groups[0].otherwise.by_schedule = {{"bedtime", conf::Otherwise::deny}};
  given.settings.groups[0].otherwise.otherwise = conf::Otherwise::deny;
  EXPECT_FALSE(page_of("ok.test").contains("until"));
}

TEST_F(Groups, WithoutAnyNoneIsNamed) {
  EXPECT_EQ(status("127.0.0.2", "blocked.test"), 403);
  EXPECT_EQ(body.find("group"), std::string::npos) << body;
  EXPECT_FALSE(log_lines(1).front().contains("group"));
}

TEST_F(Groups, TheFirstThatFitsCounts) {
  given.settings.groups = {group("wide", {"127.0.0.0/8"}), group("narrow", {"127.0.0.2"})};
  given.settings.groups[0].filters["testlist"].otherwise = Group::Action::off;
  EXPECT_EQ(status("127.0.0.2", "blocked.test"), 200);
}

TEST_F(Groups, BehindABalancerTheHeadersAddressCounts) {
  given.settings.listeners.front().proxy_protocol = {"127.0.0.1"};
  given.settings.groups = {group("local", {"127.0.0.1"}), group("far", {"127.9.0.0/16"})};
  given.settings.groups[0].filters["testlist"].otherwise = Group::Action::off;
  auto client = client_from("127.0.0.1", "PROXY TCP4 127.9.1.1 127.0.0.1 5000 3128\r\n" + get(at("blocked.test")));
  EXPECT_EQ(status_of(client.read_head()), 403);
  EXPECT_EQ(log_lines(1).front().at("group"), "far");
}

TEST_F(Groups, AreToldApartByListenersToo) {
  given.settings.listeners.emplace_back().address = "127.0.0.2:0";
  given.settings.groups = {group("second", {})};
  given.settings.groups[0].listeners = {"127.0.0.2:0"};
  given.settings.groups[0].filters["testlist"].otherwise = Group::Action::off;
  EXPECT_EQ(status("127.0.0.1", "blocked.test"), 403);
  auto client = ScriptedPeer::connect(the_proxy().addresses().at(1).port(), "127.0.0.2");
  client.send(get(at("blocked.test")));
  auto server = origin.accept();
  server.read_head();
  answer(server, client, "x");
}

TEST_F(Groups, HaveAllowListsAndPagesOfTheirOwn) {
  given.settings.groups = {group("free", {"127.0.0.2"}), group("page", {"127.0.0.3"})};
  given.settings.groups[0].allow_lists = {dir.write("free.txt", "blocked.test\n")};
  given.settings.groups[1].block_page.html_template = dir.write("page.html", "<p>Ask your teacher, {{group}}.</p>");
  EXPECT_EQ(status("127.0.0.2", "blocked.test"), 200);
  auto client = client_from("127.0.0.3", get(at("blocked.test"), "/", "Accept: text/html\r\n"));
  EXPECT_NE(read_answer(client).body.find("<p>Ask your teacher, page.</p>"), std::string::npos);
  client = client_from("127.0.0.1", get(at("blocked.test"), "/", "Accept: text/html\r\n"));
  EXPECT_NE(read_answer(client).body.find("<dt>Group</dt><dd>default</dd>"), std::string::npos);
}

// What no list names.
TEST_F(Groups, OtherwiseDenyLetsNothingElsePass) {
  given.settings.groups = {group("exam", {"127.0.0.2"})};
  given.settings.groups[0].otherwise.otherwise = conf::Otherwise::deny;
  given.allowed = "ok.test\n";
  EXPECT_EQ(status("127.0.0.2", "mixed.test"), 403);
  const auto page = nlohmann::json::parse(body);
  EXPECT_EQ(page.at("reason"), "default_deny");
  EXPECT_EQ(page.at("group"), "exam");
  EXPECT_FALSE(page.contains("filter"));
  EXPECT_EQ(status("127.0.0.2", "ok.test"), 200);
  EXPECT_EQ(status("127.0.0.2", "blocked.test"), 403);
  EXPECT_EQ(status("127.0.0.3", "mixed.test"), 200);
  EXPECT_EQ(connect_status("127.0.0.2", "mixed.test"), 403);
  EXPECT_NE(head.find("default_deny of group exam"), std::string::npos) << head;
  auto open = tunnel_from("127.0.0.2", "ok.test");
  open.client.send(client_hello(server_name("cdn.example")));
  open.client.expect_end();
  open.server.expect_end();
  EXPECT_EQ(counter(&Counters::sni_blocked_total), 1U) << "before an octet of it was relayed";
  EXPECT_EQ(log_lines(6).back().at("group"), "exam");
}

TEST_F(Groups, AtAChangeOfAScheduleTunnelsAreJudgedAgain) {
  given.settings.groups = {group("pupils", {"127.0.0.2"}), group("staff", {"127.0.0.3"})};
  for (conf::Group& made : given.settings.groups) {
    made.filters["testlist"] = {.by_schedule = {{"lessons", Group::Action::block}}, .otherwise = Group::Action::off};
  }
  given.settings.groups[1].end_tunnels = false;
  const proxy::Edition now = edition();
  serve(now);
  auto ended = tunnel_from("127.0.0.2", "blocked.test"), other = tunnel_from("127.0.0.2", "ok.test"),
       spared = tunnel_from("127.0.0.3", "blocked.test");
  EXPECT_TRUE(now.groups->hold_at(kLessons + 22 * 3600)) << "until the next morning";
  EXPECT_FALSE(now.groups->hold_at(kLessons + 23 * 3600));
  EXPECT_FALSE(now.groups->hold_at(kBreak - 1)) << "the clock was set back";
  serve(now.at(kLessons));
  ended.client.expect_end();
  ended.server.expect_end();
  for (Tunnel* open : {&other, &spared}) {
    open->server.send("still here");
    open->client.expect("still here");
  }
  EXPECT_EQ(counter(&Counters::tunnels_cut_by_reload_total), 1U);
  EXPECT_EQ(connect_status("127.0.0.3", "blocked.test"), 403) << "new ones are refused all the same";
  const auto line = log_lines(1).front();
  EXPECT_EQ(line.at("group"), "pupils");
  EXPECT_EQ(line.at("filter"), "testlist");
  serve(now.at(kBreak));
  auto again = tunnel_from("127.0.0.2", "blocked.test");
  again.server.send("open again");
  again.client.expect("open again");
}

TEST_F(Groups, WhatChangesIsToldInAFewWords) {
  given.settings.groups = {group("pupils", {"127.0.0.2"}), group("staff", {"127.0.0.3"})};
  auto& pupils = given.settings.groups[0];
  pupils.filters["testlist"] = {.by_schedule = {{"lessons", Group::Action::monitor}}, .otherwise = Group::Action::off};
  pupils.otherwise = {.by_schedule = {{"lessons", conf::Otherwise::deny}}, .otherwise = {}};
  const proxy::Edition before = edition(), after = before.at(kLessons);
  EXPECT_EQ(describe_changes(*before.snapshot->groups, *before.groups, *after.groups),
            "pupils: testlist monitor, otherwise deny");
  EXPECT_FALSE(before.groups->says_the_same_as(*after.groups));
  EXPECT_TRUE(before.groups->says_the_same_as(*before.at(kBreak + 60).groups));
  EXPECT_EQ(before.groups->of(1), before.policy) << "a group that does nothing of its own costs nothing";
}

}  // namespace
}  // namespace bloomwall::test
