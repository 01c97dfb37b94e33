// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bloomwall::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  for (LineWalk lines(text); lines.next();)
    out.push_back(std::to_string(lines.number()) + ":" + std::string(lines.line()));
  return out;
}

TEST(LineWalk, NumbersFromOneAndLeavesLineEndsOut) {
  EXPECT_THAT(lines_of("a\nb\r\n\nc"), ElementsAre("1:a", "2:b", "3:", "4:c"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("1:a"));
  EXPECT_THAT(lines_of(""), ElementsAre());
}

TEST(LineWalk, SkipsAByteOrderMarkWhereALineBegins) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"
                       "a\n\xEF\xBB\xBF"
                       "b\nc\xEF\xBB\xBF"),
              ElementsAre("1:a", "2:b", "3:c\xEF\xBB\xBF"));
}

TEST(Comments, StartAtTheStartOrAfterWhiteSpace) {
  EXPECT_EQ(without_comment("example.com # why"), "example.com");
  EXPECT_EQ(without_comment("example.com\t#why"), "example.com");
  EXPECT_EQ(without_comment("# all of it"), "");
  EXPECT_EQ(without_comment("http://example.com/a#b"), "http://example.com/a#b") << "a fragment is no comment";
  EXPECT_EQ(without_comment("http://example.com/a#b #c"), "http://example.com/a#b");
  EXPECT_EQ(without_comment("  plain  "), "plain");
  EXPECT_EQ(without_comment("a.example ; why"), "a.example ; why");
}

TEST(Comments, OfListsHaveMoreMarks) {
  for (const char* const mark : {"#", ";", "!", "//"}) {
    EXPECT_EQ(without_comment(std::string("a.example \t") + mark + " why", kListMarks), "a.example") << mark;
    EXPECT_TRUE(is_comment(std::string(mark) + "why", kListMarks)) << mark;
  }
  EXPECT_EQ(without_comment("http://a.example/b;c!d//e#f", kListMarks), "http://a.example/b;c!d//e#f");
  EXPECT_EQ(without_comment("a.example /b", kListMarks), "a.example /b");
}

TEST(Words, AreTakenOneByOne) {
  std::string_view rest = "  one\t two   three ";
  EXPECT_EQ(next_word(rest), "one");
  EXPECT_EQ(next_word(rest), "two");
  EXPECT_EQ(rest, "three");
  EXPECT_EQ(next_word(rest), "three");
  EXPECT_EQ(next_word(rest), "");
  EXPECT_EQ(rest, "");
}

}  // namespace
}  // namespace bloomwall::test
