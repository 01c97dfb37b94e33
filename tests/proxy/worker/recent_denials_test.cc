// What was blocked a moment ago: kept for whom it was blocked, for a while, and no more than has room.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/recent_denials.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "filter/policy/policy.h"
#include "proxy/decision/client_info.h"
#include "proxy/decision/request_log.h"

namespace bloomwall::proxy {
namespace {

Milliseconds clock_hand{1000};
Milliseconds tell_hand() { return clock_hand; }

RecentDenial denial_of(const std::string& url, const std::string& id = "0123456789ABCDEF") {
  return {.facts = {.url = url, .decision_id = id, .host = "shop.test", .filter = "ads"}, .at = {}};
}

std::vector<std::string> urls_of(const RecentDenials& denials, const std::string& whose) {
  std::vector<std::string> urls;
  for (const RecentDenial& denial : denials.of(whose)) urls.push_back(denial.facts.url);
  return urls;
}

TEST(RecentDenials, AreOfTheirClientAloneNewestFirst) {
  RecentDenials denials(tell_hand);
  denials.note("a", denial_of("/1"));
  denials.note("b", denial_of("/2"));
  denials.note("a", denial_of("/3"));
  EXPECT_EQ(urls_of(denials, "a"), (std::vector<std::string>{"/3", "/1"}));
  EXPECT_EQ(urls_of(denials, "b"), (std::vector<std::string>{"/2"}));
  EXPECT_TRUE(denials.of("").empty());
  denials.clear();
  EXPECT_TRUE(denials.of("a").empty());
  denials.note("a", denial_of("/4"));
  EXPECT_EQ(urls_of(denials, "a").size(), 1U);
}

TEST(RecentDenials, OfOneUrlAreCountedAndOnlyTheLastOnesKept) {
  RecentDenials denials(tell_hand);
  denials.note("a", denial_of("/same", "FIRST"));
  for (int i = 0; i < 18; ++i) denials.note("a", denial_of(std::to_string(i)));
  denials.note("a", denial_of("/same", "SECOND"));
  const auto all = denials.of("a");
  ASSERT_EQ(all.size(), 19U);
  EXPECT_EQ(all[0].count, 2U);
  EXPECT_EQ(all[0].facts.decision_id, "SECOND");
  RecentDenial connection = denial_of("/same");
  connection.is_connection = true;
  denials.note("a", connection);
  denials.note("a", denial_of("/more"));
  EXPECT_EQ(denials.of("a").size(), RecentDenials::kMost);
  EXPECT_EQ(urls_of(denials, "a")[1], "/same") << "a connection is another";
}

TEST(RecentDenials, EndAfterAWhile) {
  RecentDenials denials(tell_hand);
  denials.note("a", denial_of("/1"));
  clock_hand += RecentDenials::kFor - Milliseconds(1);
  EXPECT_EQ(denials.of("a").size(), 1U);
  denials.note("a", denial_of("/2"));
  clock_hand += Milliseconds(1);
  EXPECT_EQ(urls_of(denials, "a"), (std::vector<std::string>{"/2"}));
  denials.note("a", denial_of("/1"));
  EXPECT_EQ(denials.of("a")[0].count, 1U) << "one that has ended is not counted";
}

TEST(RecentDenials, TakeNoMoreMemoryThanTheirLimit) {
  RecentDenials denials(tell_hand);
  const std::string long_url(ReportFacts::kMaxUrl, 'u');
  constexpr int kClients = 20'000;  // of one denial each: more than twice the limit
  for (int i = 0; i < kClients; ++i) denials.note(std::to_string(i), denial_of(long_url));
  std::size_t kept = 0;
  for (int i = 0; i < kClients; ++i) kept += denials.of(std::to_string(i)).size();
  EXPECT_LT(kept * ReportFacts::kMaxUrl, RecentDenials::kMostOctets);
  EXPECT_GT(kept * ReportFacts::kMaxUrl, RecentDenials::kMostOctets / 2);
  EXPECT_EQ(denials.of(std::to_string(kClients - 1)).size(), 1U) << "the newest are kept";
  EXPECT_TRUE(denials.of("0").empty());
}

TEST(RecentDenials, MayBeNotedAndReadByAllThreads) {
  RecentDenials denials(tell_hand);
  std::atomic<std::size_t> seen{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&denials, &seen, t] {
      for (int i = 0; i < 500; ++i) {
        denials.note(std::to_string(i % 7), denial_of(std::to_string(t) + "/" + std::to_string(i)));
        seen += denials.of(std::to_string(i % 5)).size();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(seen, 0U);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(denials.of(std::to_string(i)).size(), RecentDenials::kMost);
}

TEST(RecentDenials, BelongToAUserElseToAnAddressAsItIs) {
  ClientInfo client;
  client.endpoint = *Endpoint::parse_ip("::ffff:192.0.2.7", 1);
  EXPECT_EQ(whose_denials(client, nullptr), "address 192.0.2.7");
  const User anna{.name = "anna"}, address{.name = "192.0.2.7"};
  EXPECT_EQ(whose_denials(client, &anna), "user anna");
  EXPECT_NE(whose_denials(client, &address), whose_denials(client, nullptr));
  client.endpoint = *Endpoint::parse_ip("2001:db8::1", 1);
  EXPECT_EQ(whose_denials(client, nullptr), "address 2001:db8::1") << "not its /64, which may be an office";
}

TEST(RecentDenials, SayWhatAReportSays) {
  ClientInfo client;
  client.address = "192.0.2.7";
  filter::FilterSpec spec;
  spec.name = "ads";
  filter::Verdict verdict;
  verdict.decision = filter::Decision::blocked;
  verdict.reason = filter::VerdictReason::listed;
  verdict.filter = &spec;
  verdict.expression = "shop.test";
  verdict.kind = filter::Kind::exact_host;
  const KeptVerdict kept(verdict);
  const ReportFacts facts = facts_of({.client = client,
                                      .user = nullptr,
                                      .verdict = kept,
                                      .decision_id = "ID",
                                      .url = "http://shop.test/<" + std::string(3000, 'a'),
                                      .host = "shop.test"});
  EXPECT_EQ(facts.filter, "ads");
  EXPECT_EQ(facts.reason, "listed");
  EXPECT_EQ(facts.expression.substr(1), " shop.test");
  EXPECT_TRUE(facts.url.starts_with("http://shop.test/%3Caaa"));
  EXPECT_LE(facts.url.size(), ReportFacts::kMaxUrl + 2);
}

}  // namespace
}  // namespace bloomwall::proxy
