// Deltas and allow lists that lines were appended to: what is read with the help of the former text says what is read
// without.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "filter/policy/allow_list.h"
#include "filter/policy/delta.h"
#include "filter/url/address_range.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

const KeyMaker kKeys{SeriesKey{}};

std::vector<std::string> some_entries() {
  std::vector<std::string> out;
  for (const char* host : {"a.example", "b.example", "c.b.example", "example", "192.0.2.7"}) {
    for (const char* kind : {"S ", "X ", "W "}) out.push_back(kind + std::string(host));
    out.push_back("U " + std::string(host) + "/x");
    out.push_back("Q " + std::string(host) + "/x?y");
    out.push_back("D " + std::string(host) + "/x/y/");
  }
  out.emplace_back("R raw bytes");
  std::erase_if(out, [](const std::string& entry) { return entry == "W 192.0.2.7" || entry == "S 192.0.2.7"; });
  return out;
}

class Lines {
 public:
  explicit Lines(unsigned seed) : random_(seed) {}
  // `update` writes networks behind everything else; people write them anywhere.
  std::string some(int count, bool with_networks) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      const std::string sign = random_() % 2 == 0 ? "+" : "-";
      switch (random_() % 12) {
        case 0:
          out += "# a comment\n\n";
          break;
        case 1:
          out += sign + "10." + std::to_string(random_() % 4) + (with_networks ? ".0.0/16\n" : ".0.1\n");
          break;
        case 2:
          out += sign + "http://a.example/x/../y%2fz\n";
          break;
        default:
          out += sign + entries_[random_() % entries_.size()] + "\n";
      }
    }
    return out;
  }
  std::string networks(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      out += std::string(random_() % 2 == 0 ? "+" : "-") + "N 10.9." + std::to_string(random_() % 9) + ".0/24\n";
    }
    return out;
  }

 private:
  std::mt19937 random_;
  const std::vector<std::string> entries_ = some_entries();
};

Delta::Loaded read_changes(const std::string& changes, std::uint64_t sequence,
                           const std::shared_ptr<const Delta>& former = {}) {
  const std::string text = Delta::first_line(id_of(1), sequence) + "\n" + changes;
  return Delta::parse(text, "d", kKeys, id_of(1), {.former = former});
}

std::shared_ptr<const Delta> shared(Delta::Loaded delta) {
  EXPECT_TRUE(delta) << texts_of(delta.error());
  return std::make_shared<const Delta>(*std::move(delta));
}

void expect_same(const Delta& one, const Delta& other) {
  for (const std::string& entry : some_entries()) {
    EXPECT_EQ(one.answer(OwnEntry(entry).view()), other.answer(OwnEntry(entry).view())) << entry;
  }
  EXPECT_EQ(one.size(), other.size());
  EXPECT_EQ(one.sequence(), other.sequence());
  EXPECT_EQ(one.added_networks(), other.added_networks());
  EXPECT_EQ(one.removed_networks(), other.removed_networks());
}

TEST(AppendedLines, OfADeltaSayWhatTheWholeTextSays) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    Lines lines(seed);
    const bool with_networks = seed % 3 == 0;
    std::string changes = lines.some(200, with_networks);
    std::string networks = seed % 2 == 0 ? lines.networks(5) : "";
    auto former = shared(read_changes(changes + networks, 1));
    const auto first = former;
    for (std::uint64_t step = 2; step < 6; ++step) {
      changes += lines.some(4, with_networks);
      if (seed % 2 == 0) networks += lines.networks(2);
      const auto next = shared(read_changes(changes + networks, step, former));
      EXPECT_TRUE(next->shares_lines_with(*first)) << seed;
      expect_same(*next, *shared(read_changes(changes + networks, step)));
      former = next;
    }
  }
}

TEST(AppendedLines, ALineThatWasChangedIsSeen) {
  Lines lines(7);
  const std::string changes = "+first.example\n" + lines.some(200, false);
  const auto former = shared(read_changes(changes, 1));
  for (const std::string& other : {"-first.example\n" + changes.substr(changes.find('\n') + 1),
                                   changes.substr(0, changes.rfind('\n', changes.size() / 2) + 1), std::string()}) {
    const auto next = shared(read_changes(other, 2, former));
    EXPECT_FALSE(next->shares_lines_with(*former));
    expect_same(*next, *shared(read_changes(other, 2)));
  }
}

// The end of a line that has no line end may be the middle of one.
TEST(AppendedLines, ALineWithoutItsEndIsReadAgain) {
  Lines lines(7);
  const std::string changes = lines.some(200, false) + "+evil.exam";
  const auto former = shared(read_changes(changes, 1));
  const auto next = shared(read_changes(changes + "ple\n+more.example\n", 2, former));
  EXPECT_TRUE(next->shares_lines_with(*former));
  EXPECT_EQ(next->answer(OwnEntry("S evil.example").view()), DeltaAnswer::added);
  EXPECT_EQ(next->answer(OwnEntry("S evil.exam").view()), DeltaAnswer::nothing);
}

TEST(AppendedLines, WhatIsWrongWithThemIsSaidWithTheirNumbers) {
  std::string changes;
  for (int i = 0; i < 100; ++i) changes += "+h" + std::to_string(i) + ".example\n";
  const auto former = shared(read_changes(changes, 1));
  const auto wrong = read_changes(changes + "\n+http:///a\n", 2, former);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(texts_of(wrong.error()), HasSubstr("d:103: "));
  // The number of changes counts those that were not read again.
  const auto counted = [&](std::uint64_t count) {
    const std::string text = Delta::first_line(id_of(1), 3, count) + "\n" + changes + "+more.example\n";
    return Delta::parse(text, "d", kKeys, id_of(1), {.former = former});
  };
  EXPECT_TRUE(counted(101)) << texts_of(counted(101).error());
  EXPECT_FALSE(counted(100));
}

TEST(AppendedLines, ManyOfThemMakeANewBody) {
  std::string changes;
  for (int i = 0; i < 100; ++i) changes += "+h" + std::to_string(i) + ".example\n";
  const auto former = shared(read_changes(changes, 1));
  const auto next = shared(read_changes(changes + changes, 2, former));
  EXPECT_FALSE(next->shares_lines_with(*former));
  EXPECT_EQ(next->size(), 100U);
}

TEST(AppendedLines, WhoWantsToBeToldIsToldOfAll) {
  std::string changes;
  for (int i = 0; i < 100; ++i) changes += "+h" + std::to_string(i) + ".example\n";
  const auto former = shared(read_changes(changes, 1));
  int told = 0;
  DeltaReading reading{.former = former};
  reading.on_change = [&](const Entry&, DeltaAnswer) { ++told; };
  ASSERT_TRUE(
      Delta::parse(Delta::first_line(id_of(1)) + "\n" + changes + "+more.example\n", "d", kKeys, id_of(1), reading));
  EXPECT_EQ(told, 101);
}

TEST(AppendedLines, OtherKeysAreAnotherDelta) {
  const auto former = shared(read_changes("+a.example\n+b.example\n+c.example\n+d.example\n+e.example\n", 1));
  SeriesKey other{};
  other.fill(9);
  const auto next =
      Delta::parse(Delta::first_line(id_of(1)) + "\n+a.example\n+b.example\n+c.example\n+d.example\n+e.example\n", "d",
                   KeyMaker(other), id_of(1), {.former = former});
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->shares_lines_with(*former));
  EXPECT_EQ(next->answer(OwnEntry("S a.example").view()), DeltaAnswer::added);
}

class AllowedLines : public testing::Test {
 protected:
  std::shared_ptr<const AllowLists> load(const std::shared_ptr<const AllowLists>& former = {}) {
    std::vector<Error> errors;
    auto lists = AllowLists::load(kKeys, filters_, files_, former, errors);
    errors_ = texts_of(errors);
    return lists;
  }
  // " @ads", "all", "" where there is none.
  static std::string overruled(const AllowLists& lists, std::string_view entry) {
    const std::uint32_t value = lists.entries().find(OwnEntry(entry).view());
    if (value == 0) return "";
    return lists.overrules_all(value) ? "all" : lists.scope_text(value);
  }
  void write(const std::string& one, const std::string& two) {
    folder_.write("one", one);
    folder_.write("two", two);
  }
  TempFolder folder_;
  std::vector<std::string> filters_{"ads", "malware"};
  std::vector<std::filesystem::path> files_{folder_ / "one", folder_ / "two"};
  std::string errors_;
};

std::string many(const std::string& stem) {
  std::string out;
  for (int i = 0; i < 100; ++i) out += stem + std::to_string(i) + ".example @ads\n";
  return out;
}

TEST_F(AllowedLines, AreAddedToWhatWasThere) {
  write(many("a"), many("b") + "10.0.0.0/8 @ads\n");
  const auto first = load();
  write(many("a") + "a1.example @malware\nnew.example\n", many("b") + "10.0.0.0/8 @ads\n11.0.0.0/8 @ads\na2.example\n");
  const auto second = load(first);
  EXPECT_EQ(errors_, "");
  EXPECT_TRUE(second->share_entries_with(*first));
  EXPECT_EQ(overruled(*second, "S a0.example"), " @ads");
  EXPECT_EQ(overruled(*second, "S a1.example"), " @ads @malware");
  EXPECT_EQ(overruled(*second, "S a2.example"), "all");
  EXPECT_EQ(overruled(*second, "S new.example"), "all");
  EXPECT_EQ(overruled(*first, "S a1.example"), " @ads");
  EXPECT_EQ(second->size(), load()->size());
  write(many("a") + "a1.example @malware\nother.example\n", many("b") + "10.0.0.0/8 @ads\n");
  const auto third = load(second);
  EXPECT_TRUE(third->share_entries_with(*first));
  EXPECT_EQ(overruled(*third, "S new.example"), "") << "what was added before is read again";
  EXPECT_EQ(overruled(*third, "S other.example"), "all");
}

TEST_F(AllowedLines, WhatIsWrongWithThemIsSaidWithTheirNumbers) {
  write(many("a"), many("b"));
  const auto first = load();
  write(many("a"), many("b") + "fine.example\nhttp://\n");
  load(first);
  EXPECT_THAT(errors_, HasSubstr("two:102: "));
}

TEST_F(AllowedLines, AnyOtherChangeIsReadInWhole) {
  write(many("a"), many("b"));
  const auto first = load();
  write(many("b"), many("b"));
  EXPECT_FALSE(load(first)->share_entries_with(*first)) << "another text";
  EXPECT_EQ(overruled(*load(first), "S a1.example"), "");
  write(many("a"), many("b"));
  files_.pop_back();
  EXPECT_FALSE(load(first)->share_entries_with(*first)) << "a list less";
  files_ = {folder_ / "one", folder_ / "two"};
  filters_ = {"malware", "ads"};
  EXPECT_FALSE(load(first)->share_entries_with(*first)) << "another order of filters";
  filters_ = {"ads", "malware"};
  write(many("a") + "evil.exam", many("b"));
  const auto cut = load();
  write(many("a") + "evil.example\n", many("b"));
  EXPECT_EQ(overruled(*load(cut), "S evil.exam"), "") << "the end of a line that has none may be its middle";
}

}  // namespace
}  // namespace bloomwall::filter
