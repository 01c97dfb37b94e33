// bw_ask_lines() counts, then asks: between the two, and during each, another thread may change the buffer.
// SPDX-License-Identifier: Apache-2.0
#include "library/lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bloomwall::library {
namespace {

using Verdicts = std::array<unsigned char, 8>;

// As many verdicts as were counted; 9 stands in the octets beyond them.
Verdicts ask_after_count(std::size_t counted, std::string_view text) {
  Verdicts verdicts{};
  verdicts.fill(9);
  EXPECT_EQ(ask_lines(text, true, std::span(verdicts).first(counted), [](std::string_view) { return BW_ALLOWED; }), 0);
  return verdicts;
}

TEST(LibraryLines, MoreThanWereCountedAreNotWritten) {
  std::string text = "a.test b.test c.test\nd.test\n";
  const std::size_t counted = count_lines(text);
  EXPECT_EQ(counted, 2U);
  std::ranges::replace(text, ' ', '\n');
  EXPECT_EQ(ask_after_count(counted, text), (Verdicts{0, 0, 9, 9, 9, 9, 9, 9}));
}

TEST(LibraryLines, FewerThanWereCountedAreRejected) {
  std::string text = "a.test\nb.test\nc.test\n";
  const std::size_t counted = count_lines(text);
  EXPECT_EQ(counted, 3U);
  std::ranges::replace(text, '\n', ' ');
  EXPECT_EQ(ask_after_count(counted, text), (Verdicts{0, BW_REJECTED, BW_REJECTED, 9, 9, 9, 9, 9}));
}

TEST(LibraryLines, AreAskedWithoutTheirEnds) {
  std::vector<std::string> asked;
  std::array<unsigned char, 4> verdicts{};
  const auto note = [&](std::string_view line) {
    asked.emplace_back(line);
    return BW_BLOCKED;
  };
  EXPECT_EQ(ask_lines("a\r\n\nb\rc\nd", true, verdicts, note), 0);
  EXPECT_EQ(asked, (std::vector<std::string>{"a", "", "b\rc", "d"}));
  EXPECT_EQ(ask_lines("a\r\n", false, std::span(verdicts).first(1), note), 0);
  EXPECT_EQ(asked.back(), "a\r");
  EXPECT_EQ(count_lines(""), 0U);
}

TEST(LibraryLines, EndWithTheFirstError) {
  std::array<unsigned char, 3> verdicts{9, 9, 9};
  const auto fail_at_b = [](std::string_view line) -> int {
    if (line == "b") return BW_ERROR_BAD_DIGEST;
    return BW_ALLOWED;
  };
  EXPECT_EQ(ask_lines("a\nb\nc\n", true, verdicts, fail_at_b), BW_ERROR_BAD_DIGEST);
}

}  // namespace
}  // namespace bloomwall::library
