// What is counted of requests, over all workers.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/counters.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string_view>

namespace bloomwall::proxy {
namespace {

TEST(Counters, AddUpOverWorkers) {
  Counters a, b, sum;
  a.tunnels_total.add(3);
  b.tunnels_total.add(4);
  a.client_connections_active.add(5);
  b.client_connections_active.subtract(2);
  a.count_request(MethodClass::get, filter::Decision::blocked, filter::VerdictReason::listed);
  b.count_request(MethodClass::get, filter::Decision::blocked, filter::VerdictReason::listed);
  a.count_error(ErrorKind::loop);
  a.count_response(502, 700);
  b.count_response(0, 100'000'000);
  b.count_response(999, 500);
  a.filters.count("ads", filter::FilterAction::block);
  b.filters.count("ads", filter::FilterAction::block, 2);
  b.filters.count("malware", filter::FilterAction::monitor);
  add_counters(sum, a);
  add_counters(sum, b);
  EXPECT_EQ(sum.filters.get("ads", filter::FilterAction::block), 3U);
  EXPECT_EQ(sum.filters.get("ads", filter::FilterAction::monitor), 0U);
  EXPECT_EQ(sum.filters.get("malware", filter::FilterAction::monitor), 1U);
  EXPECT_EQ(sum.filters.get("nobody", filter::FilterAction::monitor), 0U);
  EXPECT_EQ(sum.tunnels_total.get(), 7U);
  EXPECT_EQ(sum.client_connections_active.get(), 3U);
  EXPECT_EQ(sum.requests[0][static_cast<std::size_t>(filter::Decision::blocked)]
                        [static_cast<std::size_t>(filter::VerdictReason::listed)]
                            .get(),
            2U);
  EXPECT_EQ(sum.errors[static_cast<std::size_t>(ErrorKind::loop)].get(), 1U);
  EXPECT_EQ(sum.responses[5].get(), 2U);
  EXPECT_EQ(sum.responses[0].get(), 1U);
  EXPECT_EQ(sum.request_duration[0].get(), 1U);
  EXPECT_EQ(sum.request_duration[1].get(), 1U);
  EXPECT_EQ(sum.request_duration[kDurationBounds.size()].get(), 1U);
  EXPECT_EQ(sum.request_duration_microseconds.get(), 100'001'200U);
}

TEST(Counters, EveryRowHasANameAndAHelpText) {
  std::set<std::string_view> names;
  for (const CounterRow& row : kCounterRows) {
    EXPECT_FALSE(row.help.empty());
    EXPECT_EQ(row.name.ends_with("_total"), !row.gauge) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(MethodClasses, AreBounded) {
  EXPECT_EQ(class_of(Method::connect), MethodClass::connect);
  EXPECT_EQ(class_of(Method::patch), MethodClass::other);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kMethodClasses; ++i) names.insert(to_string(static_cast<MethodClass>(i)));
  EXPECT_EQ(names.size(), kMethodClasses);
}

}  // namespace
}  // namespace bloomwall::proxy
