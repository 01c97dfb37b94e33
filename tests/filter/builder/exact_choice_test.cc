// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/exact_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "filter/builder/plan.h"
#include "filter/file/exact_side.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

TEST(ExactChoice, TellsTheSizeOfAnExactSide) {
  std::mt19937_64 random(7);
  for (const std::size_t keys : {1U, 600U, 3000U, 200'000U}) {
    std::vector<std::uint64_t> all(keys);
    for (std::uint64_t& fingerprint : all) fingerprint = random() >> (64 - kExactBits);
    std::sort(all.begin(), all.end());
    std::uint64_t pages = 1;
    ExactPageWriter page;
    for (const std::uint64_t fingerprint : all) {
      if (page.add(fingerprint)) continue;
      page.take();
      ++pages;
      page.add(fingerprint);
    }
    const double bytes = static_cast<double>(kExactPageBytes + pages * (kExactPageBytes + 8));
    EXPECT_NEAR(static_cast<double>(exact_side_bytes(keys)), bytes, std::max(0.02 * bytes, 0.5)) << keys;
  }
  EXPECT_EQ(exact_side_bytes(0), kExactPageBytes);
  EXPECT_NEAR(static_cast<double>(exact_side_bytes(10'000'000'000)) * 8 / 1e10, 27, 1) << "as exact_side.h says";
}

Demand of_kinds(std::uint64_t entries, const std::array<double, kKindCount>& kinds) {
  return {.counts = *expected_counts({.entries = entries, .kinds = kinds})};
}
constexpr std::array<double, kKindCount> kHostsAlone{1, 0, 0, 0, 0, 0, 0, 0};

TEST(ExactChoice, IsWhereTheFingerprintsOfUrlsEnd) {
  const Demand urls = of_kinds(10'000'000, kUsualKinds);
  for (const double target : {1e-4, 1e-6, 1e-7}) {
    EXPECT_FALSE(exact_choice(urls, target, size_for_error(urls, target))) << target;
  }
  for (const double target : {1e-8, 1e-9}) {
    const auto sizing = size_for_error(urls, target);
    ASSERT_TRUE(sizing);
    const auto choice = exact_choice(urls, target, sizing);
    ASSERT_TRUE(choice) << target;
    EXPECT_LE(choice->error, target);
    EXPECT_LT(choice->bytes() * 4, sizing->file_bytes) << "a fifth or less";
    EXPECT_EQ(choice->file_bytes, size_for_error(urls, choice->fpr)->file_bytes);
    EXPECT_THAT(exact_choice_text(*choice, target, sizing), HasSubstr("`--fpr 1e-04 --exact-side` makes "));
  }
  const auto choice = exact_choice(urls, 1e-11, std::nullopt);
  ASSERT_TRUE(choice);
  EXPECT_THAT(exact_choice_text(*choice, 1e-11, std::nullopt), HasSubstr("an error of 1.00e-11 is out of reach"));
  EXPECT_FALSE(exact_choice(urls, 1e-15, std::nullopt)) << "out of reach with it, too";
  const Demand many = of_kinds(10'000'000'000, kUsualKinds);
  EXPECT_EQ(exact_choice(many, 1e-9, std::nullopt)->fpr, 1e-5) << "among so many keys one is confirmed more often";
  const Demand hosts = of_kinds(10'000'000, kHostsAlone);
  EXPECT_FALSE(exact_choice(hosts, 1e-9, size_for_error(hosts, 1e-9))) << "H compares 64 bits";
}

TEST(ExactChoice, IsInThePlan) {
  PlanRequest request{.entries = 10'000'000, .target = {.fpr = 1e-8}};
  EXPECT_THAT(make_plan(request)->exact_text, HasSubstr("--exact-side"));
  request.target.memory = 60'000'000;
  const auto tight = make_plan(request);
  EXPECT_TRUE(tight->refusal);
  EXPECT_FALSE(tight->exact) << "takes more, too";
  request.target.memory = 90'000'000;
  const auto enough = make_plan(request);
  EXPECT_TRUE(enough->refusal);
  ASSERT_TRUE(enough->exact);
  EXPECT_LE(enough->exact->bytes(), 90'000'000U);
  request.target = {.fpr = 1e-6};
  EXPECT_EQ(make_plan(request)->exact_text, "");
}

}  // namespace
}  // namespace bloomwall::filter
