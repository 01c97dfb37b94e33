// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/entry_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  for (TextLines lines(text); lines.next();)
    out.push_back(std::to_string(lines.number()) + ":" + std::string(lines.line()));
  return out;
}

TEST(TextLines, AreNumberedFromOneAndLoseTheirLineEnds) {
  EXPECT_THAT(lines_of("a\nb\r\n\nc"), ElementsAre("1:a", "2:b", "3:", "4:c"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("1:a"));
  EXPECT_THAT(lines_of(""), ElementsAre());
}

TEST(TextLines, SkipAByteOrderMarkAtTheStartOnly) {
  EXPECT_THAT(lines_of("\xEF\xBB\xBF"
                       "a\n\xEF\xBB\xBF"),
              ElementsAre("1:a", "2:\xEF\xBB\xBF"));
}

TEST(Comments, StartAtAHashAfterABlankOrAtTheStart) {
  EXPECT_EQ(without_comment("example.com # why"), "example.com ");
  EXPECT_EQ(without_comment("# all of it"), "");
  EXPECT_EQ(without_comment("http://example.com/a#b"), "http://example.com/a#b") << "a fragment is no comment";
  EXPECT_EQ(without_comment("http://example.com/a#b #c"), "http://example.com/a#b ");
  EXPECT_EQ(without_comment("plain"), "plain");
}

TEST(Words, AreTakenOneByOne) {
  std::string_view rest = "  one\t two   three ";
  EXPECT_EQ(take_word(rest), "one");
  EXPECT_EQ(take_word(rest), "two");
  EXPECT_EQ(rest, "three");
  EXPECT_EQ(take_word(rest), "three");
  EXPECT_EQ(take_word(rest), "");
}

TEST(InQuotes, IsPrintableAndShort) {
  EXPECT_EQ(in_quotes("ab'c\\\x01\x7F\xC3"), "'ab\\x27c\\x5C\\x01\\x7F\\xC3'");
  EXPECT_LT(in_quotes(std::string(100000, '\n')).size(), 400U);
  EXPECT_EQ(in_quotes(""), "''");
}

TEST(LineErrors, NameFileAndLineAndAreBounded) {
  LineErrors errors("list.txt");
  EXPECT_TRUE(errors.empty());
  for (std::size_t i = 1; i <= kMaxReportedErrors + 30; ++i) errors.add(i, Errc::bad_syntax, "odd");
  const std::vector<Error> all = errors.take();
  ASSERT_EQ(all.size(), kMaxReportedErrors + 1);
  EXPECT_EQ(all[0].text(), "list.txt:1: odd");
  EXPECT_THAT(all.back().text(), HasSubstr("30 further lines"));
}

TEST(ReadEntryText, GivesTheWholeFileOrWhyNot) {
  const TempFolder folder;
  const std::string big(3'000'000, 'x');
  EXPECT_EQ(*read_entry_text(folder.write("big", big)), big);
  EXPECT_EQ(*read_entry_text(folder.write("empty", "")), "");
  const auto absent = read_entry_text(folder / "absent");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::io);
  EXPECT_THAT(absent.error().text(), HasSubstr((folder / "absent").string()));
  EXPECT_THAT(absent.error().text(), HasSubstr("No such file"));
  std::filesystem::create_directory(folder / "folder");
  EXPECT_FALSE(read_entry_text(folder / "folder"));
}

TEST(ReadEntryText, RefusesMoreThanItsLimit) {
  const TempFolder folder;
  const auto file = folder.write("huge", "");
  std::filesystem::resize_file(file, kMaxEntryText + 1);  // sparse
  const auto text = read_entry_text(file);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Errc::limit);
}

}  // namespace
}  // namespace bloomwall::filter
