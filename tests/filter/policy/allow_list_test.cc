// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/allow_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/entry_text.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

AllowLists lists_for(std::vector<std::string> filters) { return AllowLists(KeyMaker(SeriesKey{}), std::move(filters)); }

// The filters that an entry overrules: "all", or their names.
std::string overruled(const AllowLists& lists, std::string_view entry) {
  const std::uint32_t value = lists.entries().find(OwnEntry(entry).view());
  if (value == 0) return "none";
  return lists.overrules_all(value) ? "all" : lists.scope_text(value);
}

struct AllowRow {
  std::string_view name, text;
  std::vector<std::pair<std::string_view, std::string_view>> entries;
};
class AllowListRules : public testing::TestWithParam<AllowRow> {};

TEST_P(AllowListRules, OverruleExactlyTheseFilters) {
  AllowLists lists = lists_for({"ads", "malware", "@odd"});
  EXPECT_EQ(texts_of(lists.parse(GetParam().text, "allow.txt")), "");
  for (const auto& [entry, filters] : GetParam().entries) EXPECT_EQ(overruled(lists, entry), filters) << entry;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AllowListRules,
    testing::Values(
        AllowRow{"WithoutANameAll",
                 "example.com\n",
                 {{"S example.com", "all"}, {"X example.com", "none"}, {"S a.example.com", "none"}}},
        AllowRow{"PublishedAsItIs",
                 "[Adblock Plus]\n! Title: allowed\n! Version: 1\n@@||a.example^\n@@|b.example^|\n"
                 "@@||c.example^$important\n@@||d.example^$document,important @ads\n  ! end\n",
                 {{"S a.example", "all"},
                  {"X b.example", "all"},
                  {"S b.example", "none"},
                  {"S c.example", "all"},
                  {"S d.example", " @ads"}}},
        AllowRow{"WithAName", "example.com @ads\n", {{"S example.com", " @ads"}}},
        AllowRow{"WithSeveralNames", "example.com\t@malware   @ads # both\n", {{"S example.com", " @ads @malware"}}},
        AllowRow{"ANameWithASign", "example.com @@odd\n", {{"S example.com", " @@odd"}}},
        AllowRow{
            "ShapesAsInEveryList",
            "192.0.2.1\nhttp://example.com/a\nexample.com/d/ @ads\nhttp://example.com/a?q\n*.example.org\nintranet\n",
            {{"X 192.0.2.1", "all"},
             {"U example.com/a", "all"},
             {"D example.com/d/", " @ads"},
             {"Q example.com/a?q", "all"},
             {"S example.org", "all"},
             {"S intranet", "all"}}},
        AllowRow{"ShapesOfOtherLists",
                 "@@||a.example^\n0.0.0.0 b.example c.example @ads # why\n*.zip\n",
                 {{"S a.example", "all"}, {"X b.example", " @ads"}, {"X c.example", " @ads"}, {"S zip", "all"}}},
        AllowRow{
            "TheSameHostAsInLists",
            "a.example#why\nb.example\xc2\xa0\n-sso.c.example\nd.example:8080\n*.za\nx.co.za\n0.0.0.0 e.example#f\n"
            "b\xc3\xbc"
            "cher.example\ng\xe3\x80\x82"
            "example @ads\n",
            {{"S a.example", "all"},
             {"S b.example", "all"},
             {"S -sso.c.example", "all"},
             {"S d.example", "all"},
             {"S za", "all"},
             {"S x.co.za", "all"},
             {"X e.example", "all"},
             {"S xn--bcher-kva.example", "all"},
             {"S g.example", " @ads"}}},
        AllowRow{"RulesForOneHostAndForSubdomains",
                 "@@|a.example^\n@@||*.b.example^\n",
                 {{"X a.example", "all"}, {"S a.example", "none"}, {"W b.example", "all"}, {"S b.example", "none"}}},
        AllowRow{"NamesOfSeveralLinesAddUp",
                 "example.com @ads\nexample.com @malware\n",
                 {{"S example.com", " @ads @malware"}}},
        AllowRow{"AllStaysAll",
                 "a.example\na.example @ads\nb.example @ads\nb.example\n",
                 {{"S a.example", "all"}, {"S b.example", "all"}}},
        AllowRow{
            "CommentsAndBlanks", "\xEF\xBB\xBF# head\r\n\r\n  example.com  \t# why\r\n", {{"S example.com", "all"}}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(AllowLists, TellWhichFiltersTheyOverruleBeyond64) {
  std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back("f" + std::to_string(i));
  AllowLists lists = lists_for(names);
  ASSERT_THAT(lists.parse("a.example @f0 @f63 @f64 @f199\n", "allow.txt"), IsEmpty());
  const std::uint32_t value = lists.entries().find(OwnEntry("S a.example").view());
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (lists.overrules(value, i)) found.push_back(i);
  }
  EXPECT_THAT(found, ElementsAre(0, 63, 64, 199));
}

// The filters that ranges overrule for an address.
std::string overruled_networks(const AllowLists& lists, std::string_view text, std::size_t filters) {
  ExactMatches matches;
  lists.find_networks(*read_address(text), matches);
  std::string out;
  for (std::size_t filter = 0; filter < filters; ++filter) {
    const bool is_overruled = std::any_of(matches.begin(), matches.end(), [&](const ExactMatch& match) {
      return match.kind == Kind::network && lists.overrules(match.value, filter);
    });
    out += is_overruled ? static_cast<char>('0' + filter) : '.';
  }
  return out;
}

TEST(AllowLists, TakeRangesOfAddresses) {
  const TempFolder folder;
  AllowLists lists = lists_for({"ads", "malware", "drop"});
  const std::string_view text =
      "10.0.0.0/8\n192.0.2.0-192.0.2.9 @ads\n192.0.2.5 - 192.0.2.20\t@malware # why\n2001:db8::/32 @drop @ads\n"
      "198.51.100.7/32 @drop\n[2001:db8:1::]/48\n";
  EXPECT_EQ(texts_of(lists.parse(text, "allow.txt")), "");
  const auto overruled_at = [&](std::string_view address) { return overruled_networks(lists, address, 3); };
  EXPECT_EQ(overruled_at("10.1.2.3"), "012");
  EXPECT_EQ(overruled_at("::ffff:10.1.2.3"), "012");
  EXPECT_EQ(overruled_at("11.0.0.0"), "...");
  EXPECT_EQ(overruled_at("192.0.2.0"), "0..");
  EXPECT_EQ(overruled_at("192.0.2.7"), "01.") << "in two ranges";
  EXPECT_EQ(overruled_at("192.0.2.20"), ".1.");
  EXPECT_EQ(overruled_at("2001:db8::1"), "0.2");
  EXPECT_EQ(overruled_at("2001:db8:1::1"), "012");
  EXPECT_EQ(overruled_at("198.51.100.7"), "..2");
  EXPECT_EQ(lists.size(), 6U);
  EXPECT_FALSE(lists.empty());
  EXPECT_THAT(lists.load(folder.write("b", "192.0.2.0/24 @drop\n")), IsEmpty());
  EXPECT_EQ(overruled_at("192.0.2.7"), "012") << "of another list";
  EXPECT_EQ(overruled_at("10.1.2.3"), "012");
}

TEST(AllowLists, KnowAnAddressByItself) {
  AllowLists lists = lists_for({"ads"});
  ASSERT_THAT(lists.parse("192.0.2.1\n2001:db8::1 @ads\nhttp://192.0.2.2/x\n", "allow.txt"), IsEmpty());
  EXPECT_TRUE(lists.overrules_all(lists.find_address(*read_address("192.0.2.1"))));
  EXPECT_TRUE(lists.overrules(lists.find_address(*read_address("2001:DB8:0::1")), 0));
  EXPECT_EQ(lists.find_address(*read_address("192.0.2.2")), 0U) << "a URL is not its address";
}

// In queries people hardly mean it for a pattern.
TEST(AllowLists, TakeAStarAsTheCharacterWhereItIsSpeltOut) {
  AllowLists lists = lists_for({});
  const auto errors = lists.parse("a.example/web/%2A/x\na.example/s?q=*\n", "allow.txt");
  EXPECT_TRUE(errors.empty()) << texts_of(errors);
  EXPECT_EQ(lists.size(), 2U);
}

struct BadAllowRow {
  std::string_view name, line;
  std::string_view says;
};
class BadAllowLines : public testing::TestWithParam<BadAllowRow> {};

TEST_P(BadAllowLines, AreErrorsWithTheirLine) {
  AllowLists lists = lists_for({"ads"});
  const auto errors = lists.parse("# head\n" + std::string(GetParam().line) + "\ngood.example\n", "allow.txt");
  ASSERT_EQ(errors.size(), 1U) << texts_of(errors);
  EXPECT_THAT(errors[0].text(), AllOf(HasSubstr("allow.txt:2: "), HasSubstr(std::string(GetParam().says))));
  EXPECT_EQ(lists.size(), 1U) << "the bad line opens nothing, the good one counts";
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadAllowLines,
    testing::Values(
        BadAllowRow{"UnknownFilter", "example.com @adverts", "'adverts'; there are @ads"},
        BadAllowRow{"OneKnownOneUnknown", "example.com @ads @x", "'x'"},
        BadAllowRow{"Directive", "!#include other.txt", "preprocessor"},
        BadAllowRow{"ModifierOfSomeRequests", "@@||a.example^$script", "a.example"},
        BadAllowRow{"AddressInBrackets", "[a.example]", "a.example"}, BadAllowRow{"NoName", "example.com @", "''"},
        BadAllowRow{"TwoEntries", "a.example b.example", "one entry a line"},
        BadAllowRow{"AlternativeForms", "http://example.com/a%2fb", "may be read in"},
        BadAllowRow{"NoHost", "http:///x", "neither a host nor a URL"},
        BadAllowRow{"Pattern", "ex*mple.com", "pattern"},
        BadAllowRow{"SpeltAsNoRequestMayBe", "http://good.example@evil.example/", "write it plainly"},
        BadAllowRow{"MistypedScheme", "http//oops", "neither a host nor a URL"},
        BadAllowRow{"TopLevelDomain", "com", "'*.com'"}, BadAllowRow{"TopLevelDomainInCapitals", "COM.", "'*.com'"},
        BadAllowRow{"CountryWithoutARule", "za", "'*.za'"}, BadAllowRow{"CountryAsAUrl", "http://ZA/", "'*.za'"},
        BadAllowRow{"SubdomainsOfACountryAsARule", "@@||*.za^", "'*.za'"},
        BadAllowRow{"TopLevelDomainAsAUrl", "http://com/", "'*.com'"},
        BadAllowRow{"ByteOrderMarkInside",
                    "a.example\xEF\xBB\xBF"
                    "b.example",
                    "byte order mark"},
        BadAllowRow{"ReturnInside", "a.example\rb.example", "one entry a line"},
        BadAllowRow{"TopLevelDomainOfARule", "@@||com^", "'*.com'"},
        BadAllowRow{"HostByFragment", "http://github.com/#!/page", "would allow all of github.com"},
        BadAllowRow{"StarForAllOfAHost", "good.example/*", "'*' in a path stands for itself"},
        BadAllowRow{"StarForAllOfAFolder", "http://good.example/a/* @ads", "'*' in a path stands for itself"},
        BadAllowRow{"StarForAPartOfAPath", "good.example/a*b?c", "'%2A' is the character"},
        BadAllowRow{"RangeWithBitsBeyond", "192.0.2.5/24", "bits set beyond"},
        BadAllowRow{"RangeOfEverything", "::/0 @ads", "every address"},
        BadAllowRow{"RangeOfAnUnknownFilter", "10.0.0.0/8 @x", "'x'"},
        BadAllowRow{"TwoRanges", "10.0.0.0/8 11.0.0.0/8", "one entry a line"}, BadAllowRow{"OnlyAFilter", "@ads", ""}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(AllowLists, ReportAllTheirErrors) {
  AllowLists lists = lists_for({});
  const auto errors =
      lists.parse("a.example @ads\n\nhttp:///\n" + std::string(kMaxEntryLine + 1, 'a') + "\n", "allow.txt");
  ASSERT_EQ(errors.size(), 3U) << texts_of(errors);
  EXPECT_THAT(errors[0].text(), HasSubstr("no filter is configured"));
  EXPECT_THAT(errors[1].text(), HasSubstr("allow.txt:3: "));
  EXPECT_EQ(errors[2].code, Errc::limit);
}

TEST(AllowLists, OfSeveralFilesAddUp) {
  const TempFolder folder;
  AllowLists lists = lists_for({"ads", "malware"});
  EXPECT_THAT(lists.load(folder.write("a", "a.example @ads\n")), IsEmpty());
  EXPECT_THAT(lists.load(folder.write("b", "a.example @malware\nb.example\n")), IsEmpty());
  EXPECT_EQ(overruled(lists, "S a.example"), " @ads @malware");
  EXPECT_EQ(overruled(lists, "S b.example"), "all");
  EXPECT_EQ(lists.size(), 2U);
  const auto errors = lists.load(folder / "absent");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].code, Errc::io);
}

}  // namespace
}  // namespace bloomwall::filter
