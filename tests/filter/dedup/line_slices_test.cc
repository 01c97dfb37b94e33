// Slices put together again are the text; where chunks end makes no difference.
// SPDX-License-Identifier: Apache-2.0
#include "filter/dedup/line_slices.h"

#include <gtest/gtest.h>

#include <string>

namespace bloomwall::filter {
namespace {

struct Cut {
  std::string lines;   // of slices that may be compared
  std::string pieces;  // of lines that are too long
  std::size_t long_lines = 0;
  std::string all;
};

Cut cut(std::string_view text, std::size_t step) {
  ListInput input = ListInput::of_memory(text, "memory", step);
  LineSlices slices(input);
  LineSlice slice;
  Cut out;
  while (true) {
    const auto more = slices.next(slice);
    EXPECT_TRUE(more.has_value());
    if (!more || !*more) break;
    EXPECT_FALSE(slice.text.empty());
    if (!slice.too_long) {
      EXPECT_EQ(slice.text.back(), '\n');
    }
    (slice.too_long ? out.pieces : out.lines) += slice.text;
    if (slice.line_ends) ++out.long_lines;
    out.all += slice.text;
  }
  return out;
}

struct Case {
  const char* name;
  std::string text, want;
};

TEST(LineSlices, GiveBackTheTextWhateverTheChunks) {
  const Case cases[] = {
      {"Nothing", "", ""},
      {"OneLine", "a\n", "a\n"},
      {"AMissingLastLineFeedIsAdded", "a\nb", "a\nb\n"},
      {"EmptyLinesStay", "\n\na\n\n", "\n\na\n\n"},
      {"ACarriageReturnIsAnOctetLikeAnyOther", "a\r\na\n\r", "a\r\na\n\r\n"},
      {"AByteOrderMarkToo",
       "\xef\xbb\xbf"
       "a\n",
       "\xef\xbb\xbf"
       "a\n"},
      {"AndZero", std::string("\0\n\0", 3), std::string("\0\n\0\n", 4)},
  };
  for (const Case& c : cases) {
    for (const std::size_t step : {1UL, 2UL, 3UL, kInputChunkBytes}) {
      const Cut got = cut(c.text, step);
      EXPECT_EQ(got.lines, c.want) << c.name << ", step " << step;
      EXPECT_EQ(got.pieces, "") << c.name;
    }
  }
}

TEST(LineSlices, ALineAtTheLimitIsComparedAndOneOverItIsNot) {
  const std::string at_limit(kMaxDedupLine, 'x');
  for (const std::size_t step : {1000UL, std::size_t{65536}, kInputChunkBytes}) {
    EXPECT_EQ(cut(at_limit + "\nb\n", step).lines, at_limit + "\nb\n") << step;
    EXPECT_EQ(cut(at_limit, step).lines, at_limit + "\n") << step;
    for (const char* end : {"", "\n"}) {
      const Cut over = cut("a\n" + at_limit + "x" + end, step);
      EXPECT_EQ(over.lines, "a\n") << step;
      EXPECT_EQ(over.pieces, at_limit + "x\n") << step;
      EXPECT_EQ(over.long_lines, 1U);
    }
  }
}

TEST(LineSlices, LinesAroundLongOnesKeepTheirOrder) {
  const std::string big(3 * kMaxDedupLine + 5, 'y');
  const std::string text = "a\n" + big + "\nb\n" + big + "\n" + big + "\nc";
  const Cut got = cut(text, kInputChunkBytes);
  EXPECT_TRUE(got.all == text + "\n");
  EXPECT_EQ(got.lines, "a\nb\nc\n");
  EXPECT_EQ(got.long_lines, 3U);
}

}  // namespace
}  // namespace bloomwall::filter
