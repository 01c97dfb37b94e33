// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/entry_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

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

TEST(CheckEntryTextSize, RefusesWhatWouldNotBeRead) {
  EXPECT_TRUE(check_entry_text_size(kMaxEntryText, "f.delta"));
  const auto ok = check_entry_text_size(kMaxEntryText + 1, "f.delta");
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().text(), "f.delta: larger than 1024 MiB; build a filter from it instead");
}

}  // namespace
}  // namespace bloomwall::filter
