// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/frame_budget.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

using std::chrono::milliseconds;
using Verdict = FrameBudget::Verdict;
constexpr std::size_t kMostHead = 1000;

std::string frame(std::uint8_t type, std::uint8_t flags, std::size_t length) {
  std::string made{static_cast<char>(length >> 16U),
                   static_cast<char>(length >> 8U),
                   static_cast<char>(length),
                   static_cast<char>(type),
                   static_cast<char>(flags),
                   0,
                   0,
                   0,
                   1};
  return made.append(length, 'x');
}

// How many of them pass, all at one time.
std::uint32_t most_of(const std::string& one, FrameBudget& budget, milliseconds now = milliseconds(5000)) {
  std::uint32_t passed = 0;
  while (passed < 100'000 && budget.feed(one, now) == Verdict::fine) ++passed;
  return passed;
}

TEST(FrameBudget, BoundsFramesThatAskForNothing) {
  struct Row {
    const char* name;
    std::string frame;
  };
  const Row rows[] = {
      {"PING", frame(6, 0, 8)},         {"SETTINGS", frame(4, 0, 0)},      {"PRIORITY", frame(2, 0, 5)},
      {"RST_STREAM", frame(3, 0, 4)},   {"WINDOW_UPDATE", frame(8, 0, 4)}, {"empty DATA", frame(0, 0, 0)},
      {"padded DATA", frame(0, 8, 10)}, {"unknown", frame(0xbe, 0, 3)},    {"PRIORITY_UPDATE", frame(16, 0, 5)}};
  for (const Row& row : rows) {
    FrameBudget budget(0, kMostHead);
    EXPECT_EQ(most_of(row.frame, budget), FrameBudget::kBurst) << row.name;
  }
}

TEST(FrameBudget, LetsRequestsAndBodiesPass) {
  FrameBudget budget(0, kMostHead);
  for (const std::string& one : {frame(1, 5, 100), frame(0, 0, 1), frame(0, 1, 0), frame(0, 0, 16384)}) {
    EXPECT_EQ(most_of(one, budget), 100'000U);
  }
}

TEST(FrameBudget, GivesMoreWithTimeAndWithBodiesThatWereTaken) {
  const std::string ping = frame(6, 0, 0);
  FrameBudget budget(0, kMostHead);
  most_of(ping, budget, milliseconds(1000));
  EXPECT_EQ(budget.feed(ping, milliseconds(1000)), Verdict::empty_frames);
  EXPECT_EQ(most_of(ping, budget, milliseconds(2000)), FrameBudget::kPerSecond);
  budget.on_body_sent(10 * FrameBudget::kOctetsAFrame, false);
  EXPECT_EQ(most_of(ping, budget, milliseconds(2000)), 10U);
  for (int i = 0; i < 1000; ++i) budget.on_body_sent(1, false);
  EXPECT_EQ(most_of(ping, budget, milliseconds(2000)), 0U) << "octets one by one, for a window of one";
  for (int i = 0; i < 10; ++i) budget.on_body_sent(1, true);
  EXPECT_EQ(most_of(ping, budget, milliseconds(2000)), 20U) << "small messages";
  for (int i = 0; i < 10; ++i) budget.on_head_sent();
  EXPECT_EQ(most_of(ping, budget, milliseconds(2000)), 20U);
  EXPECT_EQ(most_of(ping, budget, milliseconds(3'600'000)), FrameBudget::kBurst) << "no more than that at once";
}

TEST(FrameBudget, BoundsAHeaderSectionOverAllItsFrames) {
  FrameBudget budget(0, kMostHead);
  EXPECT_EQ(budget.feed(frame(1, 0, 900), milliseconds(1)), Verdict::fine);
  EXPECT_EQ(budget.feed(frame(9, 0, 100), milliseconds(1)), Verdict::fine);
  EXPECT_EQ(budget.feed(frame(9, 0, 1), milliseconds(1)), Verdict::endless_head);
  FrameBudget empty(0, kMostHead);
  empty.feed(frame(1, 0, 10), milliseconds(1));
  EXPECT_EQ(most_of(frame(9, 0, 0), empty), FrameBudget::kBurst);
  FrameBudget another(0, kMostHead);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(another.feed(frame(1, 4, 900), milliseconds(1)), Verdict::fine);
  EXPECT_EQ(another.feed(frame(1, 4, 1001), milliseconds(1)), Verdict::endless_head);
}

TEST(FrameBudget, BoundsStreamsThatWereReset) {
  FrameBudget budget(0, kMostHead);
  std::uint32_t passed = 0;
  while (budget.on_reset(milliseconds(1000)) == Verdict::fine) ++passed;
  EXPECT_EQ(passed, FrameBudget::kResetBurst);
  EXPECT_EQ(budget.on_reset(milliseconds(1000)), Verdict::resets);
  passed = 0;
  while (budget.on_reset(milliseconds(3000)) == Verdict::fine) ++passed;
  EXPECT_EQ(passed, 2 * FrameBudget::kResetsPerSecond);
  for (int i = 0; i < 10; ++i) budget.on_stream_done();
  for (passed = 0; budget.on_reset(milliseconds(3000)) == Verdict::fine;) ++passed;
  EXPECT_EQ(passed, 10U);
}

TEST(FrameBudget, SaysTheSameHoweverItsInputIsCut) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto any = [&](std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random); };
  std::string bytes(24, 'P');
  std::uint32_t counted = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto type = static_cast<std::uint8_t>(any(10));
    const std::size_t length = any(3) == 0 ? 0 : any(60);
    counted += type != 1 && !(type == 0 && length > 0);
    bytes += frame(type, 0, length);
  }
  std::size_t where[2] = {};
  for (std::size_t& place : where) {
    FrameBudget budget(24, kMostHead);
    Verdict verdict = Verdict::fine;
    while (place < bytes.size() && verdict == Verdict::fine) {
      const std::size_t size = &place == &where[0] ? 1 : std::min(bytes.size() - place, 1 + any(40));
      verdict = budget.feed(std::string_view(bytes).substr(place, size), milliseconds(1));
      if (verdict == Verdict::fine) place += size;
    }
    ASSERT_GT(counted, FrameBudget::kBurst);
    EXPECT_NE(verdict, Verdict::fine);
  }
  EXPECT_LE(where[1], where[0]);
  EXPECT_GT(where[1] + 40, where[0]);
}

}  // namespace
}  // namespace bloomwall::proxy
