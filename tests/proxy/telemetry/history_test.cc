// Figures over time: tops, durations, steps.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "proxy/telemetry/duration_counts.h"
#include "proxy/telemetry/top_history.h"
#include "proxy/telemetry/top_names.h"
#include "proxy/telemetry/traffic_history.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

TEST(TopNames, CountsExactlyWhatFits) {
  TopNames tops;
  for (int i = 0; i < 3; ++i) tops.count("b");
  tops.count("a", 3);
  tops.count("c");
  tops.count("");
  EXPECT_EQ(tops.rows(), (std::vector<TopNames::Row>{{"a", 3, 0}, {"b", 3, 0}, {"c", 1, 0}}));
  EXPECT_EQ(tops.rows(1).size(), 1U);
  TopNames other;
  other.count("c", 9);
  tops.add(other);
  EXPECT_EQ(tops.rows(1).front(), (TopNames::Row{"c", 10, 0}));
}

TEST(TopNames, CutsLongNames) {
  TopNames tops;
  tops.count(std::string(300, 'x') + "a");
  tops.count(std::string(300, 'x') + "b");
  EXPECT_EQ(tops.rows(), (std::vector<TopNames::Row>{{std::string(TopNames::kLongestName, 'x'), 2, 0}}));
}

// A hostile mixture: most names come once.
TEST(TopNames, HoldsWhatIsFrequentAndSaysHowWrongItMayBe) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  std::mt19937 random(seed);
  std::map<std::string, std::uint64_t> truth;
  TopNames tops;
  constexpr std::uint64_t kAll = 200'000;
  for (std::uint64_t i = 0; i < kAll; ++i) {
    const bool is_common = random() % 4 == 0;
    const std::string name = is_common ? fmt::format("common{}", random() % 50) : fmt::format("once{}", i);
    ++truth[name];
    tops.count(name);
  }
  const auto rows = tops.rows();
  EXPECT_EQ(rows.size(), TopNames::kMost);
  for (const TopNames::Row& row : rows) {
    EXPECT_GE(row.count, truth[row.name]) << "seed " << seed;
    EXPECT_LE(row.count - row.error, truth[row.name]) << "seed " << seed;
    EXPECT_LE(row.error, kAll / TopNames::kMost) << "seed " << seed;
  }
  std::size_t found = 0, frequent = 0;
  for (const auto& [name, count] : truth) {
    if (count <= kAll / TopNames::kMost) continue;
    ++frequent;
    for (const TopNames::Row& row : rows) found += row.name == name ? std::size_t{1} : 0;
  }
  EXPECT_EQ(frequent, 50U);
  EXPECT_EQ(found, frequent) << "seed " << seed;
}

TEST(DurationCounts, BucketsFollowOneAnotherWithoutGaps) {
  for (std::size_t bucket = 0; bucket + 1 < DurationCounts::kBuckets; ++bucket) {
    const std::uint64_t start = DurationCounts::start_of(bucket), next = DurationCounts::start_of(bucket + 1);
    ASSERT_LT(start, next);
    ASSERT_EQ(DurationCounts::bucket_of(start), bucket);
    ASSERT_EQ(DurationCounts::bucket_of(next - 1), bucket);
  }
  EXPECT_EQ(DurationCounts::bucket_of(~std::uint64_t{0}), DurationCounts::kBuckets - 1);
  EXPECT_GT(DurationCounts::start_of(DurationCounts::kBuckets - 1), 100'000'000U) << "well over a minute";
}

TEST(DurationCounts, QuantilesAreRightToAnEighth) {
  DurationCounts counts;
  EXPECT_FALSE(quantile(counts.values(), 0.5));
  for (int i = 1; i <= 10'000; ++i) counts.count(std::chrono::microseconds(i * 10));
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    const double wanted = share * 100'000, got = static_cast<double>(*quantile(counts.values(), share));
    EXPECT_NEAR(got, wanted, wanted / 8 + 1) << share;
  }
  counts.count(std::chrono::microseconds(-5));
  EXPECT_EQ(*quantile(counts.values(), 0), 0U);
}

constexpr std::int64_t kBegin = 1'793'620'800'000;  // a whole hour, in milliseconds

TrafficHistory::Sample sample(std::int64_t seconds, std::uint64_t requests) {
  TrafficHistory::Sample sample{.at = kBegin + seconds * 1000, .totals = {}, .tunnels = 7, .in_flight = requests % 10};
  sample.totals.requests = requests;
  sample.totals.blocked = requests / 10;
  sample.totals.bytes_sent = requests * 1000;
  sample.totals.durations[DurationCounts::bucket_of(2000)] = requests;
  return sample;
}

TEST(TrafficHistory, HasAStepForEachMinuteAndTheOneUnderWay) {
  TrafficHistory history;
  EXPECT_TRUE(history.steps(TrafficSpan::hour).empty());
  EXPECT_EQ(history.recent().requests, 0U);
  for (std::int64_t second = 30; second <= 150; ++second) {
    history.take(sample(second, static_cast<std::uint64_t>(second) * 10));
  }
  const auto steps = history.steps(TrafficSpan::hour);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].at, kBegin / 1000 + 30);
  EXPECT_EQ(steps[0].seconds, 30);
  EXPECT_EQ(steps[0].requests, 300U);
  EXPECT_EQ(steps[1].seconds, 60);
  EXPECT_EQ(steps[1].requests, 600U);
  EXPECT_EQ(steps[1].blocked, 60U);
  EXPECT_EQ(steps[1].bytes_sent, 600'000U);
  EXPECT_EQ(steps[1].tunnels, 7U);
  EXPECT_NEAR(*steps[1].p50_ms, 2, 0.25);
  EXPECT_NEAR(*steps[1].p99_ms, 2, 0.25);
  EXPECT_EQ(steps[2].seconds, 30);
  const auto recent = history.recent();
  EXPECT_EQ(recent.seconds, 10);
  EXPECT_EQ(recent.requests, 100U);
}

TEST(TrafficHistory, KeepsAnHourAndADay) {
  TrafficHistory history;
  for (std::int64_t second = 0; second <= 2 * 86'400; second += 10) {
    history.take(sample(second, static_cast<std::uint64_t>(second)));
  }
  EXPECT_EQ(history.steps(TrafficSpan::hour).size(), 60U);
  EXPECT_EQ(history.steps(TrafficSpan::day).size(), 288U);
  for (const TrafficStep& step : history.steps(TrafficSpan::day)) EXPECT_LE(step.requests, 300U);
}

TEST(TrafficHistory, AClockThatIsSetBackLosesTheStepUnderWayAlone) {
  TrafficHistory history;
  history.take(sample(0, 0));
  history.take(sample(60, 60));
  history.take(sample(90, 90));
  history.take(sample(70, 95));
  history.take(sample(50, 100));
  history.take(sample(65, 115));
  std::vector<std::uint64_t> requests;
  for (const TrafficStep& step : history.steps(TrafficSpan::hour)) requests.push_back(step.requests);
  EXPECT_EQ(requests, (std::vector<std::uint64_t>{60, 15, 0}));
  EXPECT_EQ(history.recent().requests, 15U);
}

BlockedTops tops_of(const std::string& host) {
  BlockedTops tops;
  tops.hosts.count(host);
  return tops;
}

TEST(TopHistory, ForgetsWhatIsOlderThanItsSpan) {
  constexpr std::int64_t kStart = kBegin / 1000;
  TopHistory history(kStart + 60);
  for (std::int64_t hour = 0; hour < 30; ++hour)
    history.add(tops_of(fmt::format("h{}", hour)), kStart + hour * 3600 + 60);
  const std::int64_t now = kStart + 29 * 3600 + 120;
  const auto hour = history.window(TrafficSpan::hour, now);
  EXPECT_EQ(hour.since, now - 120 - 3600);
  EXPECT_EQ(hour.tops.hosts.rows(), (std::vector<TopNames::Row>{{"h28", 1, 0}, {"h29", 1, 0}}));
  EXPECT_EQ(history.window(TrafficSpan::day, now).tops.hosts.rows().size(), 25U);
  EXPECT_TRUE(history.window(TrafficSpan::hour, now + 2 * 3600).tops.hosts.empty());
  EXPECT_EQ(TopHistory(kStart).window(TrafficSpan::day, kStart + 60).since, kStart);
}

}  // namespace
}  // namespace bloomwall::proxy
