// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/source_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string hex(char digit) { return std::string(64, digit); }
SourceInfo source(const std::string& name, std::uint8_t octet) {
  SourceInfo out{.name = name, .format = "urls", .bytes = 1, .entries = 1, .sha256 = {}};
  out.sha256.fill(octet);
  return out;
}

class SourceListTest : public testing::Test {
 protected:
  Result<SourceList> read(const std::string& text) const { return SourceList::read(dir_.write("sums", text)); }
  std::string judge(const std::string& text, const std::vector<SourceInfo>& sources) const {
    const auto list = read(text);
    if (!list) return list.error().text();
    const auto ok = list->check(sources);
    return ok ? "" : ok.error().what;
  }
  test::TempDir dir_;
  const std::string two_ = hex('1') + "  a.txt\n" + hex('2') + " *dir/b.txt\n";
};

TEST_F(SourceListTest, TakesWhatSha256sumPrints) {
  EXPECT_EQ(judge(two_, {source("a.txt", 0x11), source("dir/b.txt", 0x22)}), "");
  EXPECT_EQ(judge("# a comment\n\n\\" + hex('1') + "  a\\\\b\\n\r\n", {source("a\\b\n", 0x11)}), "");
  EXPECT_EQ(judge(two_, {source("/elsewhere/b.txt", 0x22), source("a.txt", 0x11)}), "") << "the content counts";
  const std::string twins = hex('1') + "  a\n" + hex('1') + "  b\n";
  EXPECT_EQ(judge(twins, {source("a", 0x11), source("b", 0x11)}), "") << "named twice, given twice";
}

TEST_F(SourceListTest, NamesWhatIsMissingAlteredTwiceOrUnknown) {
  EXPECT_THAT(judge(two_, {source("a.txt", 0x11)}), HasSubstr("'dir/b.txt' is missing"));
  EXPECT_THAT(judge(two_, {source("a.txt", 0x11), source("./dir//b.txt", 0x33)}),
              AllOf(HasSubstr("b.txt' is altered or cut: SHA-256 3333"), Not(HasSubstr("missing"))));
  EXPECT_THAT(judge(two_, {source("a.txt", 0x11), source("dir/b.txt", 0x22), source("copy", 0x11)}),
              HasSubstr("'copy' is given twice"));
  EXPECT_THAT(judge(two_, {source("a.txt", 0x11), source("dir/b.txt", 0x22), source("c", 0x44)}),
              HasSubstr("'c' is not named there"));
  EXPECT_THAT(judge(two_, {}), AllOf(HasSubstr("'a.txt' is missing"), HasSubstr("and 1 more")));
}

TEST_F(SourceListTest, JudgesAnotherEditionOfManyAtOnce) {
  std::string text;
  std::vector<SourceInfo> other;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "lists/" + std::to_string(i) + ".txt";
    text += hex('1') + "  " + name + "\n";
    other.push_back(source(name, 0x22));
  }
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THAT(judge(text, other), AllOf(HasSubstr("'lists/0.txt' is altered or cut"), HasSubstr("and 19999 more")));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20)) << "not each name with each other";
}

TEST_F(SourceListTest, RefusesOtherTextsWithTheLine) {
  for (const std::string& line : {std::string("a.txt"), hex('1'), hex('1') + " a", hex('g') + "  a",
                                  hex('1').substr(1) + "  a", hex('1') + "  "}) {
    const auto list = read(hex('2') + "  ok\n" + line + "\n");
    ASSERT_FALSE(list) << line;
    EXPECT_EQ(list.error().code, Errc::bad_syntax);
    EXPECT_THAT(list.error().where, HasSubstr(":2"));
  }
  EXPECT_EQ(read("").error().code, Errc::usage);
  EXPECT_EQ(SourceList::read(dir_.path() / "none").error().code, Errc::io);
}

}  // namespace
}  // namespace bloomwall::filter
