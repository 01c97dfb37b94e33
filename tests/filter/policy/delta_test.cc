// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/delta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "filter/policy/entry_text.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const KeyMaker kDeltaKeys{SeriesKey{}};

Delta::Loaded parse(std::string_view changes, std::uint8_t base = 1) {
  const std::string text = Delta::first_line(id_of(1)) + "\n" + std::string(changes);
  return Delta::parse(text, "my.delta", kDeltaKeys, id_of(base));
}

constexpr auto kNothing = DeltaAnswer::nothing;
constexpr auto kAdded = DeltaAnswer::added;
constexpr auto kRemoved = DeltaAnswer::removed;

struct DeltaRow {
  std::string_view name, changes;
  std::vector<std::pair<std::string_view, DeltaAnswer>> answers;  // of canonical entries
};

class DeltaRules : public testing::TestWithParam<DeltaRow> {};

TEST_P(DeltaRules, AnswerForExactlyTheseEntries) {
  const auto delta = parse(GetParam().changes);
  ASSERT_TRUE(delta) << texts_of(delta.error());
  for (const auto& [entry, answer] : GetParam().answers) {
    EXPECT_EQ(static_cast<int>(delta->answer(OwnEntry(entry).view())), static_cast<int>(answer)) << entry;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rules, DeltaRules,
    testing::Values(
        DeltaRow{"NothingChangesNothing", "", {{"S example.com", kNothing}}},
        DeltaRow{"ShapeGivesTheKind",
                 "+example.com\n+192.0.2.1\n+http://example.com/a\n+http://example.com/a/\n+http://example.com/"
                 "a?b\n+*.example.org\n"
                 "+||example.net^\n+http://root.example/\n",
                 {{"S example.com", kAdded},
                  {"X example.com", kNothing},
                  {"X 192.0.2.1", kAdded},
                  {"U example.com/a", kAdded},
                  {"D example.com/a/", kAdded},
                  {"Q example.com/a?b", kAdded},
                  {"S example.org", kAdded},
                  {"S example.net", kAdded},
                  {"S root.example", kAdded},
                  {"U root.example/", kNothing}}},
        DeltaRow{"AGivenKindIsTaken",
                 "+X example.com\n + \tW   example.org\n-S example.net\n+D http://example.com/a/\n-U\texample.com/u\n",
                 {{"X example.com", kAdded},
                  {"S example.com", kNothing},
                  {"W example.org", kAdded},
                  {"S example.net", kRemoved},
                  {"X example.net", kNothing},
                  {"D example.com/a/", kAdded},
                  {"U example.com/u", kRemoved}}},
        DeltaRow{"AHostOfOneLetterIsNoKind", "+x\n+s.example\n", {{"S x", kAdded}, {"S s.example", kAdded}}},
        DeltaRow{"RemovingAHostWithoutKindTakesSAndX",
                 "-example.com\n",
                 {{"S example.com", kRemoved},
                  {"X example.com", kRemoved},
                  {"W example.com", kNothing},
                  {"S a.example.com", kNothing},
                  {"U example.com/a", kNothing},
                  {"D example.com/a/", kNothing}}},
        DeltaRow{"RemovingAUrlIsByItsShape",
                 "-http://example.com/a\n-http://example.com/d/\n-http://example.com/a?q\n",
                 {{"U example.com/a", kRemoved},
                  {"D example.com/a/", kNothing},
                  {"D example.com/d/", kRemoved},
                  {"Q example.com/a?q", kRemoved},
                  {"Q example.com/a?r", kNothing},
                  {"S example.com", kNothing}}},
        DeltaRow{"RemovingAnAddress", "-192.0.2.1\n", {{"X 192.0.2.1", kRemoved}}},
        DeltaRow{
            "AnAddressIsExactWhateverTheKind", "+S 192.0.2.1\n", {{"X 192.0.2.1", kAdded}, {"S 192.0.2.1", kNothing}}},
        DeltaRow{"LastLineWinsForRemoval",
                 "+example.com\n-example.com\n",
                 {{"S example.com", kRemoved}, {"X example.com", kRemoved}}},
        DeltaRow{"LastLineWinsForAddition", "-http://a.example/x\n+http://a.example/x\n", {{"U a.example/x", kAdded}}},
        DeltaRow{"SpellingDoesNotMatter",
                 "+http://EXAMPLE.com.:80/a/../%62\n-HTTP://example.COM/B\n",
                 {{"U example.com/b", kAdded}, {"U example.com/B", kRemoved}}},
        DeltaRow{"AnOddSpellingIsTakenAsListsTakeIt", "+http://user@example.com/a\n", {{"U example.com/a", kAdded}}},
        DeltaRow{"AnAmbiguousUrlIsAllItsForms",
                 "+http://example.com/evil/%252e%252e/x\n",
                 {{"U example.com/x", kAdded}, {"U example.com/evil/../x", kAdded}}},
        DeltaRow{
            "WithAKindTheTextIsCanonicalAndTakenByteForByte",
            "+U example.com/a%3Fb\n-U example.com/x/../y\n+D example.com/x/../\n+Q example.com/a%2Fb?%25?/\\\n"
            "+U example.com/./c\n+Q example.com/?q\n+U example.com/..\n+X [2001:db8::1]\n+D [2001:db8::1]/x%5Cy/\n",
            {{"U example.com/a%3Fb", kAdded},
             {"Q example.com/a?b", kNothing},
             {"U example.com/x/../y", kRemoved},
             {"U example.com/y", kNothing},
             {"D example.com/x/../", kAdded},
             {"U example.com/", kNothing},
             {"U example.com/./c", kAdded},
             {"U example.com/c", kNothing},
             {"Q example.com/?q", kAdded},
             {"U example.com/..", kAdded},
             {"X [2001:db8::1]", kAdded},
             {"D [2001:db8::1]/x%5Cy/", kAdded}}},
        DeltaRow{"TextThatIsNotCanonicalIsReadAsTypedWhateverTheKind",
                 "+U EXAMPLE.com/%61/../b\n+U http://example.com/c\n+U example.com//d\n",
                 {{"U example.com/b", kAdded}, {"U example.com/c", kAdded}, {"U example.com/d", kAdded}}},
        DeltaRow{"RawIsEveryByteAfterTheBlank",
                 "+R me@example.com\n-R  two blanks # no comment \n",
                 {{"R me@example.com", kAdded}, {"R  two blanks # no comment ", kRemoved}, {"R two blanks", kNothing}}},
        DeltaRow{"CommentsBlanksAndLineEndsDoNotCount",
                 "# a comment\r\n\r\n  \t \n  + example.com  # why\r\n\t# another\n-a.example\t# x\n",
                 {{"S example.com", kAdded}, {"S a.example", kRemoved}}},
        DeltaRow{"SuffixesThatAreSpeltOut",
                 "+*.com\n+.co.uk\n+X github.io\n+S net\n-github.io\n-org\n",
                 {{"S com", kAdded},
                  {"S co.uk", kAdded},
                  {"X github.io", kRemoved},
                  {"S github.io", kRemoved},
                  {"S net", kAdded},
                  {"S org", kRemoved}}},
        DeltaRow{"OrdinaryOddities",
                 "+http://a_b.example/x,2026;v=1?a=*\n+intranet\n+U a.example/a*b\n+http://a.example/x#top\n",
                 {{"Q a_b.example/x,2026;v=1?a=*", kAdded},
                  {"S intranet", kAdded},
                  {"U a.example/a*b", kAdded},
                  {"U a.example/x", kAdded}}},
        DeltaRow{"AnUnfinishedLastLineCounts", "+example.com", {{"S example.com", kAdded}}}),
    [](const auto& row) { return std::string(row.param.name); });

// What a delta says of addresses: "+" added to networks, "-" taken out, "." nothing.
std::string said_of(const Delta& delta, const std::vector<std::string_view>& addresses) {
  std::string out;
  for (const std::string_view text : addresses) {
    const IpAddress address = *read_address(text);
    const bool added = delta.added_networks().find(address).has_value();
    const bool removed = delta.removed_networks().find(address).has_value();
    EXPECT_FALSE(added && removed) << text;
    out += added ? '+' : removed ? '-' : '.';
  }
  return out;
}

struct NetworkRow {
  std::string_view name, changes;
  std::vector<std::string_view> addresses;
  std::string_view says;
};
class DeltaNetworks : public testing::TestWithParam<NetworkRow> {};

TEST_P(DeltaNetworks, SayThisOfAddresses) {
  const auto delta = parse(GetParam().changes);
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(said_of(*delta, GetParam().addresses), GetParam().says);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, DeltaNetworks,
    testing::Values(
        NetworkRow{"ByShape",
                   "+1.10.16.0/20\n-192.0.2.0/24 # why\n+2001:db8::/32\n",
                   {"1.10.15.255", "1.10.16.0", "1.10.31.255", "1.10.32.0", "192.0.2.9", "2001:db8::1", "2001:db9::"},
                   ".++.-+."},
        NetworkRow{"WithTheKind",
                   "+N 1.10.16.0/20\n-N [2001:db8::]/32\n+N 192.0.2.1\n+N 192.0.2.3/32\n",
                   {"1.10.16.1", "2001:db8::1", "192.0.2.1", "192.0.2.2", "192.0.2.3"},
                   "+-+.+"},
        NetworkRow{"FirstToLast",
                   "+192.0.2.3-192.0.2.5\n-192.0.2.7 - 192.0.2.8\n+N 192.0.2.10-192.0.2.11\n",
                   {"192.0.2.2", "192.0.2.3", "192.0.2.5", "192.0.2.6", "192.0.2.7", "192.0.2.8", "192.0.2.11"},
                   ".++.--+"},
        NetworkRow{"LastLineWinsForEachAddress",
                   "+10.0.0.0/8\n-10.1.0.0/16\n+10.1.2.0/24\n-N 10.1.2.3\n",
                   {"10.0.0.1", "10.1.0.1", "10.1.2.2", "10.1.2.3", "10.1.2.4", "10.1.3.1", "10.2.0.0"},
                   "+-+-+-+"},
        NetworkRow{"AWiderLineOverrulesAll", "-10.1.0.0/16\n+10.0.0.0/8\n", {"10.1.0.1", "10.2.0.1"}, "++"},
        NetworkRow{"AnAddressAloneIsNoNetworkUnlessItIsWrittenAsOne",
                   "+192.0.2.1\n+192.0.2.2/32\n+X 192.0.2.3\n+192.0.2.4-192.0.2.4\n-192.0.2.5/32\n+192.0.2.5/32\n",
                   {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"},
                   ".+.++"},
        NetworkRow{"RemovingAnAddressTakesItOutOfNetworks",
                   "+192.0.2.0/24\n-192.0.2.1\n-192.0.2.2/32\n-X 192.0.2.3\n",
                   {"192.0.2.1", "192.0.2.2", "192.0.2.3"},
                   "--+"},
        NetworkRow{"AnAddressThatIsAddedAfterwardsIsInThemAgain",
                   "-192.0.2.1\n+192.0.2.1\n-N 192.0.2.0/30\n+X 192.0.2.2\n+192.0.2.3/32\n+10.0.0.0/8\n-10.0.0.1\n"
                   "+10.0.0.1\n-2001:db8::1\n+2001:db8::1\n",
                   {"192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3", "10.0.0.1", "2001:db8::1"},
                   "--++++"},
        NetworkRow{"TheLastWordIsARemoval",
                   "+192.0.2.1\n-192.0.2.1\n+10.0.0.1\n-10.0.0.0/8\n",
                   {"192.0.2.1", "10.0.0.1"},
                   "--"},
        NetworkRow{"MappedAddressesAreIpv4",
                   "+::ffff:192.0.2.0/120\n-64:ff9b::192.0.2.128/121\n",
                   {"192.0.2.1", "::ffff:192.0.2.1", "192.0.2.200"},
                   "++-"},
        NetworkRow{
            "UrlsOfAddressesAreNone", "+http://192.0.2.0/24\n+192.0.2.0/24/x\n+192.0.2.0/2024\n", {"192.0.2.0"}, "."}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Delta, ANetworkOfOneAddressIsARangeToAddAndTheAddressToRemove) {
  const auto delta = parse("+192.0.2.2/32\n-2001:db8::1/128\n-198.51.100.0/24\n");
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(delta->answer(OwnEntry("X 192.0.2.2").view()), kNothing);
  EXPECT_TRUE(delta->added_networks().find(*read_address("192.0.2.2")));
  EXPECT_EQ(delta->answer(OwnEntry("X [2001:db8::1]").view()), kRemoved);
  EXPECT_EQ(delta->answer(OwnEntry("X 198.51.100.0").view()), kNothing) << "a range leaves entries alone";
}

TEST(Delta, TellsChangesOfNetworksInTheOrderOfLines) {
  std::string told;
  DeltaReading reading;
  reading.on_range = [&](const AddressRange& range, DeltaAnswer answer) {
    told += (answer == kAdded ? "+" : "-") + text_of(range) + " ";
  };
  const std::string text = Delta::first_line(id_of(1)) + "\n+10.0.0.0/8\n-10.1.0.0/16\n+N 10.1.0.1\n-10.1.0.2\n";
  ASSERT_TRUE(Delta::parse(text, "my.delta", kDeltaKeys, id_of(1), reading));
  EXPECT_EQ(told, "+10.0.0.0/8 -10.1.0.0/16 +10.1.0.1/32 -10.1.0.2/32 ");
}

TEST(Delta, CountsWhatItHolds) {
  EXPECT_EQ(parse("")->size(), 0U);
  EXPECT_EQ(parse("+a.example\n+a.example\n+http://a.example/x\n")->size(), 2U);
  EXPECT_EQ(parse("-a.example\n")->size(), 2U) << "S and X";
  EXPECT_EQ(parse("+10.0.0.0/8\n+11.0.0.0/8\n-N 10.0.0.1\n")->size(), 3U) << "two ranges with a hole between them";
}

struct BadDeltaRow {
  std::string_view name;
  std::string text;  // after the first line
  Errc code;
  std::string_view says;
};

class BadDeltas : public testing::TestWithParam<BadDeltaRow> {};

TEST_P(BadDeltas, AreRefusedWithTheLineAndWhatToDo) {
  const auto delta = parse(GetParam().text);
  ASSERT_FALSE(delta);
  ASSERT_EQ(delta.error().size(), 1U) << texts_of(delta.error());
  EXPECT_EQ(delta.error()[0].code, GetParam().code);
  EXPECT_THAT(delta.error()[0].text(), AllOf(HasSubstr("my.delta:3: "), HasSubstr(std::string(GetParam().says))));
}

const std::string kLongLine = "+" + std::string(kMaxEntryLine, 'a');

INSTANTIATE_TEST_SUITE_P(
    Lines, BadDeltas,
    testing::Values(
        BadDeltaRow{"NoSign", "\nexample.com\n", Errc::bad_syntax, "'+' or '-'"},
        BadDeltaRow{"NoEntry", "\n+\n", Errc::bad_syntax, "missing"},
        BadDeltaRow{"OnlyAComment", "\n+ # example.com\n", Errc::bad_syntax, "missing"},
        BadDeltaRow{"TwoEntries", "\n+a.example b.example\n", Errc::bad_syntax, "one entry a line"},
        BadDeltaRow{"UnknownKind", "\n+Z example.com\n", Errc::bad_syntax, "white space"},
        BadDeltaRow{"NoHost", "\n+http:///a\n", Errc::bad_syntax, "neither a host nor a URL"},
        BadDeltaRow{"Pattern", "\n+ex*mple.com\n", Errc::bad_syntax, "pattern"},
        BadDeltaRow{"HostKindOfAUrl", "\n+S http://example.com/a\n", Errc::bad_syntax, "kind S is a host"},
        BadDeltaRow{"UrlKindOfAHost", "\n+U example.com\n", Errc::bad_syntax, "kind U is a URL"},
        BadDeltaRow{"UrlKindOfADirectory", "\n-U http://example.com/a/\n", Errc::bad_syntax, "does not end in '/'"},
        BadDeltaRow{"DirectoryKindOfAUrl", "\n-D http://example.com/a\n", Errc::bad_syntax, "ends in '/'"},
        BadDeltaRow{"QueryKindWithoutQuery", "\n+Q http://example.com/a\n", Errc::bad_syntax, "with a query"},
        BadDeltaRow{"SubdomainsOfAnAddress", "\n+W 192.0.2.1\n", Errc::bad_syntax, "kind W is a host"},
        BadDeltaRow{"OneKindForSeveralReadings", "\n+U example.com/a%3fb\n", Errc::bad_syntax, "several ways"},
        BadDeltaRow{"QueryOfNothing", "\n+Q example.com/a?\n", Errc::bad_syntax, "with a query"},
        BadDeltaRow{"TheRootIsNoDirectory", "\n+D example.com/\n", Errc::bad_syntax, "kind D is a URL"},
        BadDeltaRow{"RangeWithBitsBeyond", "\n+192.0.2.5/24\n", Errc::bad_syntax, "bits set beyond"},
        BadDeltaRow{"RangeOfEverything", "\n+0.0.0.0/0\n", Errc::bad_syntax, "every address"},
        BadDeltaRow{"RangeThatEndsEarly", "\n-192.0.2.5-192.0.2.1\n", Errc::bad_syntax, "ends before"},
        BadDeltaRow{"HostKindOfARange", "\n+X 192.0.2.0/24\n", Errc::bad_syntax, "pattern"},
        BadDeltaRow{"NetworkKindOfAHost", "\n+N example.com\n", Errc::bad_syntax, "kind N is an address"},
        BadDeltaRow{"NetworkKindOfNothing", "\n+N \n", Errc::bad_syntax, "kind N is an address"},
        BadDeltaRow{"HostWithAComma", "\n+evil.example,\n", Errc::bad_syntax, "no request can have"},
        BadDeltaRow{"HostWithASemicolon", "\n+evil.example;x\n", Errc::bad_syntax, "no request can have"},
        BadDeltaRow{"HostWithADollar", "\n-evil$.example\n", Errc::bad_syntax, "no request can have"},
        BadDeltaRow{"HostInQuotes", "\n+\"evil.example\"\n", Errc::bad_syntax, "no request can have"},
        BadDeltaRow{"HostThatIsTooLong", "\n+" + std::string(64, 'a') + ".example\n", Errc::bad_syntax,
                    "no request can have"},
        BadDeltaRow{"UrlOfAHostWithAComma", "\n+http://a,b.example/x\n", Errc::bad_syntax, "no request can have"},
        BadDeltaRow{"KindOfAHostWithAComma", "\n+S evil.example,\n", Errc::bad_syntax, "no request can have"},
        BadDeltaRow{"KindOfACanonicalHostWithAComma", "\n+U a%2Cb.example/\n", Errc::bad_syntax, "no request can have"},
        BadDeltaRow{"StarInAPath", "\n+http://evil.example/x*\n", Errc::bad_syntax, "stands for itself"},
        BadDeltaRow{"StarBelowAHost", "\n+evil.example/*\n", Errc::bad_syntax, "stands for itself"},
        BadDeltaRow{"HostByFragment", "\n+http://evil.example/#/x\n", Errc::bad_syntax, "all of evil.example"},
        BadDeltaRow{"RemovedHostByFragment", "\n-http://evil.example/#x\n", Errc::bad_syntax, "all of evil.example"},
        BadDeltaRow{"TopLevelDomain", "\n+com\n", Errc::bad_syntax, "write '*.com'"},
        BadDeltaRow{"CountryWithoutARule", "\n+za\n", Errc::bad_syntax, "write '*.za'"},
        BadDeltaRow{"PublicSuffix", "\n+co.uk\n", Errc::bad_syntax, "write '*.co.uk'"},
        BadDeltaRow{"UrlOfAPublicSuffix", "\n+http://github.io/\n", Errc::bad_syntax, "public suffix"},
        BadDeltaRow{"ReturnInside", "\n+a.example\rb.example\n", Errc::bad_syntax, "white space inside"},
        BadDeltaRow{"ByteOrderMarkInside",
                    "\n+a.example\xEF\xBB\xBF"
                    "b.example\n",
                    Errc::bad_syntax, "byte order mark"},
        BadDeltaRow{"ByteOrderMarkInAPath",
                    "\n+http://a.example/x\xEF\xBB\xBF"
                    "y\n",
                    Errc::bad_syntax, "byte order mark"},
        BadDeltaRow{"ByteOrderMarkBehindAKind",
                    "\n+S a.example\xEF\xBB\xBF"
                    "b.example\n",
                    Errc::bad_syntax, "byte order mark"},
        BadDeltaRow{"RawWithoutBytes", "\n+R \n", Errc::bad_syntax, "no bytes"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Delta, ALineOverTheLimitIsRefusedAndTheNextOneRead) {
  const auto delta = parse(kLongLine + "\nhuh\n");
  ASSERT_FALSE(delta);
  ASSERT_EQ(delta.error().size(), 2U);
  EXPECT_EQ(delta.error()[0].code, Errc::limit);
  EXPECT_THAT(delta.error()[0].text(), AllOf(HasSubstr("my.delta:2: "), HasSubstr("65537 bytes")));
  EXPECT_THAT(delta.error()[1].text(), HasSubstr("my.delta:3: "));
}

TEST(Delta, ALineWithAKindMayBeAsLongAsAListsLineInCanonicalForm) {
  std::string escapes;
  for (std::size_t i = 0; i < kMaxEntryLine; ++i) escapes += "%E4";
  const auto delta = parse("+U example.com/" + escapes + "\n+R " + std::string(kMaxEntryLine, 'r') + "\n");
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(delta->answer(OwnEntry("U example.com/" + escapes).view()), kAdded);
  EXPECT_FALSE(parse("+R " + std::string(4 * kMaxEntryLine, 'r') + "\n"));
}

TEST(Delta, ReportsEveryBadLine) {
  const auto delta = parse("+good.example\nbad\n+\n-good.example\n");
  ASSERT_FALSE(delta);
  EXPECT_EQ(delta.error().size(), 2U) << texts_of(delta.error());
}

struct HeadRow {
  std::string_view name, line;
  Errc code;
  std::string_view says;
};
class DeltaHeads : public testing::TestWithParam<HeadRow> {};

TEST_P(DeltaHeads, AreRefused) {
  const auto delta = Delta::parse(GetParam().line, "my.delta", kDeltaKeys, id_of(1));
  ASSERT_FALSE(delta);
  ASSERT_EQ(delta.error().size(), 1U) << texts_of(delta.error());
  EXPECT_EQ(delta.error()[0].code, GetParam().code);
  EXPECT_THAT(delta.error()[0].text(), AllOf(HasSubstr("my.delta:1: "), HasSubstr(std::string(GetParam().says))));
}

INSTANTIATE_TEST_SUITE_P(
    FirstLine, DeltaHeads,
    testing::Values(HeadRow{"Empty", "", Errc::bad_syntax, "first line must be"},
                    HeadRow{"NotADelta", "example.com\n", Errc::bad_syntax, "first line must be"},
                    HeadRow{"Blank", "\nbloomwall-delta 1 base=01010101010101010101010101010101\n", Errc::bad_syntax,
                            "first line must be"},
                    HeadRow{"NoVersion", "bloomwall-delta\n", Errc::unsupported, "only 1"},
                    HeadRow{"LaterVersion", "bloomwall-delta 2 base=01010101010101010101010101010101\n",
                            Errc::unsupported, "only 1"},
                    HeadRow{"NoBase", "bloomwall-delta 1\n", Errc::bad_syntax, "first line must be"},
                    HeadRow{"ShortBase", "bloomwall-delta 1 base=0101\n", Errc::bad_syntax, "first line must be"},
                    HeadRow{"BadDigit", "bloomwall-delta 1 base=0101010101010101010101010101010g\n", Errc::bad_syntax,
                            "first line must be"},
                    HeadRow{"MoreThanIsKnown", "bloomwall-delta 1 base=01010101010101010101010101010101 signed\n",
                            Errc::bad_syntax, "first line must be"}),
    [](const auto& row) { return std::string(row.param.name); });

struct CountRow {
  std::string_view name, words, changes;
  std::string says;  // empty: it is taken
};
class DeltaCounts : public testing::TestWithParam<CountRow> {};

TEST_P(DeltaCounts, FitTheLinesOrAreRefused) {
  const std::string text =
      Delta::first_line(id_of(1)) + std::string(GetParam().words) + "\n" + std::string(GetParam().changes);
  const auto delta = Delta::parse(text, "my.delta", kDeltaKeys, id_of(1));
  ASSERT_EQ(delta.has_value(), GetParam().says.empty()) << (delta ? "taken" : texts_of(delta.error()));
  if (!delta) {
    EXPECT_THAT(texts_of(delta.error()), AllOf(HasSubstr("my.delta:1: "), HasSubstr(GetParam().says)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    FirstLine, DeltaCounts,
    testing::Values(CountRow{"None", "", "+a.example\n", ""}, CountRow{"NoneWithoutLineEnd", "", "+a.example", ""},
                    CountRow{"Fits", " changes=2", "# x\n+a.example\n\n -b.example\n", ""},
                    CountRow{"BehindTheSequence", " sequence=3 changes=1", "+a.example\r\n", ""},
                    CountRow{"Nothing", " changes=0", "# x\n", ""},
                    CountRow{"Fewer", " changes=2", "+a.example\n", "there are 1"},
                    CountRow{"NothingLeft", " changes=2", "", "there are 0"},
                    CountRow{"More", " sequence=1 changes=1", "+a.example\n-b.example\n", "there are 2"},
                    CountRow{"CutInTheLastLine", " changes=2", "+a.example\n+b.exam", "without a line end"},
                    CountRow{"BeforeTheSequence", " changes=1 sequence=1", "+a.example\n", "first line must be"},
                    CountRow{"Twice", " changes=1 changes=1", "+a.example\n", "first line must be"},
                    CountRow{"NoNumber", " changes=", "", "first line must be"},
                    CountRow{"Negative", " changes=-1", "", "first line must be"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(Delta, AFirstLineWithoutItsEndIsCut) {
  for (const std::string& line : {Delta::first_line(id_of(1)), Delta::first_line(id_of(1), 3)}) {
    const auto cut = Delta::parse(line, "my.delta", kDeltaKeys, id_of(1));
    ASSERT_FALSE(cut);
    EXPECT_THAT(texts_of(cut.error()), HasSubstr("my.delta:1: is cut"));
    EXPECT_TRUE(Delta::parse(line + "\n", "my.delta", kDeltaKeys, id_of(1)));
  }
}

TEST(Delta, OfAnotherFilterNamesBothIds) {
  const auto delta = parse("+example.com\nnot even read\n", 2);
  ASSERT_FALSE(delta);
  ASSERT_EQ(delta.error().size(), 1U);
  EXPECT_EQ(delta.error()[0].code, Errc::wrong_base);
  EXPECT_THAT(delta.error()[0].text(),
              AllOf(HasSubstr("01010101010101010101010101010101"), HasSubstr("02020202020202020202020202020202"),
                    HasSubstr("another build of it")));
}

TEST(Delta, WithoutAFilterItsTextIsStillChecked) {
  const std::string head = Delta::first_line(id_of(7)) + "\n";
  EXPECT_TRUE(Delta::parse(head + "+a.example\n", "d", kDeltaKeys, std::nullopt));
  EXPECT_FALSE(Delta::parse(head + "a.example\n", "d", kDeltaKeys, std::nullopt));
}

TEST(Delta, UpperCaseHexAndAMarkAtTheStartAreRead) {
  FileId id = id_of(0xAB);
  EXPECT_TRUE(
      Delta::parse("\xEF\xBB\xBF"
                   "bloomwall-delta 1 base=ABABABABABABABABABABABABABABABAB\r\n+a.example\r\n",
                   "d", kDeltaKeys, id));
}

TEST(Delta, IsLoadedFromItsFile) {
  const TempFolder folder;
  const auto file = folder.write("a.delta", Delta::first_line(id_of(3)) + "\n+a.example\n");
  const auto delta = Delta::load(file, kDeltaKeys, id_of(3));
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(delta->answer(OwnEntry("S a.example").view()), kAdded);
  const auto absent = Delta::load(folder / "absent", kDeltaKeys, id_of(3));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().at(0).code, Errc::io);
}

}  // namespace
}  // namespace bloomwall::filter
