// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_input.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace bloomwall::filter::test {
namespace {

using Lines = std::vector<std::pair<std::uint64_t, std::string>>;

Lines read_lines(std::string_view text, std::size_t step) {
  ListInput input = ListInput::of_memory(text, "list", step);
  LineBlocks blocks(input);
  LineBlock block;
  Lines lines;
  std::uint64_t expected = 1;
  while (true) {
    const auto more = blocks.next(block);
    if (!more || !*more) break;
    EXPECT_EQ(block.first_line, expected);
    EXPECT_LE(block.text.size(), kInputChunkBytes + kMaxLineBytes + 1);
    LineWalk walk(block.text, block.first_line);
    std::size_t count = 0;
    while (walk.next()) {
      lines.emplace_back(walk.number(), std::string(walk.line()));
      expected = walk.number() + 1;
      ++count;
    }
    EXPECT_GT(count, 0U);
  }
  return lines;
}

struct BlockCase {
  const char* rule;
  std::string_view text;
  Lines want;
};
class Lining : public testing::TestWithParam<BlockCase> {};
TEST_P(Lining, IsTheSameWhereverAChunkEnds) {
  for (std::size_t step = 1; step <= GetParam().text.size() + 1; ++step) {
    ASSERT_EQ(read_lines(GetParam().text, step), GetParam().want) << "in chunks of " << step;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rules, Lining,
    testing::Values(BlockCase{"Nothing", "", {}}, BlockCase{"OneLine", "a\n", {{1, "a"}}},
                    BlockCase{"NoEnd", "a\nb", {{1, "a"}, {2, "b"}}},
                    BlockCase{"EmptyLines", "\n\na\n\n", {{1, ""}, {2, ""}, {3, "a"}, {4, ""}}},
                    BlockCase{"CarriageReturns", "a\r\nb\r\n\r\n", {{1, "a"}, {2, "b"}, {3, ""}}},
                    BlockCase{"CarriageReturnInsideStays", "a\rb\r\r\n", {{1, "a\rb\r"}}},
                    BlockCase{"CarriageReturnAtTheEnd", "a\r", {{1, "a"}}},
                    BlockCase{"ByteOrderMark",
                              "\xef\xbb\xbf"
                              "a\nb\n",
                              {{1, "a"}, {2, "b"}}},
                    BlockCase{"ByteOrderMarkAlone", "\xef\xbb\xbf\n", {{1, ""}}},
                    BlockCase{"ByteOrderMarkWhereFilesWereJoined",
                              "a\n\xef\xbb\xbf"
                              "b\nc\xef\xbb\xbf\n",
                              {{1, "a"}, {2, "b"}, {3, "c\xef\xbb\xbf"}}},
                    BlockCase{"Nul", std::string_view("a\0b\nc\n", 6), {{1, std::string("a\0b", 3)}, {2, "c"}}}),
    [](const testing::TestParamInfo<BlockCase>& row) { return std::string(row.param.rule); });

TEST(LineBlocks, ALineAtTheLimitIsWholeAndOneOverItIsKnown) {
  for (const std::size_t length :
       {kMaxLineBytes - 1, kMaxLineBytes, kMaxLineBytes + 1, kMaxLineBytes + 2, 3 * kInputChunkBytes}) {
    for (const std::size_t step : {std::size_t{1000}, kInputChunkBytes}) {
      const std::string text = "a\n" + std::string(length, 'x') + "\nb\n";
      ListInput input = ListInput::of_memory(text, "list", step);
      LineBlocks blocks(input);
      LineBlock block;
      std::vector<std::size_t> sizes;
      std::uint64_t last = 0;
      while (blocks.next(block).value_or(false)) {
        LineWalk walk(block.text, block.first_line);
        while (walk.next()) {
          if (walk.line().size() > 1) {
            EXPECT_EQ(walk.too_long(), length > kMaxLineBytes);
          }
          sizes.push_back(walk.line().size());
          last = walk.number();
        }
      }
      ASSERT_EQ(sizes.size(), 3U);
      EXPECT_EQ(last, 3U);
      if (length <= kMaxLineBytes) {
        EXPECT_EQ(sizes[1], length);
      }
    }
  }
}

TEST(LineBlocks, ALineWithoutEndDoesNotGrowMemory) {
  const std::string text(8 * kInputChunkBytes, 'x');
  ListInput input = ListInput::of_memory(text, "list");
  LineBlocks blocks(input);
  LineBlock block;
  ASSERT_TRUE(blocks.next(block).value_or(false));
  EXPECT_GT(block.text.size(), kMaxLineBytes);
  EXPECT_LT(block.text.size(), kMaxLineBytes + 16);
  EXPECT_FALSE(blocks.next(block).value_or(true));
}

// What a walk takes off a line that was cut must not make it one that fits: its beginning would be read as all of it.
TEST(LineBlocks, ALineThatWasCutIsTooLongWhateverIsTakenOffIt) {
  const std::string mark(kByteOrderMark);
  for (const std::string& begin : {std::string(), std::string("a\n"), mark, mark + mark, "a\n" + mark}) {
    for (const char filler : {'x', '\r'}) {
      const std::string text = begin + std::string(kMaxLineBytes + 1000, filler);  // no LF: nothing but what was kept
      ListInput input = ListInput::of_memory(text, "list");
      LineBlocks blocks(input);
      LineBlock block;
      bool last_too_long = false;
      while (blocks.next(block).value_or(false)) {
        LineWalk walk(block.text, block.first_line);
        while (walk.next()) last_too_long = walk.too_long();
      }
      EXPECT_TRUE(last_too_long) << begin.size() << " octets before " << static_cast<int>(filler);
    }
  }
}

TEST(LineBlocks, AnErrorOfTheInputIsPassedOn) {
  const std::string_view broken("\x1f\x8b\x08garbage");
  ListInput input = ListInput::of_memory(broken, "list");
  LineBlocks blocks(input);
  LineBlock block;
  EXPECT_FALSE(blocks.next(block));
}

}  // namespace
}  // namespace bloomwall::filter::test
