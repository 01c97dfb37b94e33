// One table of texts and formats: the same host or range means the same in every format that can hold it. Each cell is
// tested; the cells that differ are named with what they mean and why.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

constexpr std::string_view kNothing = "-";

// A format, how it writes a host ('%'), and the kind that it gives to one.
struct Column {
  std::string_view name;
  Format format;
  std::string_view shape;
  char kind;
  std::string_view csv_column = {};
};
constexpr std::array<Column, 20> kColumns{{
    {"domains", Format::domains, "%", 'S'},
    {"wildcard", Format::wildcard, "%", 'S'},
    {"squidguard-domains", Format::squidguard_domains, "%", 'S'},
    {"hosts", Format::hosts, "0.0.0.0 %", 'X'},
    {"adblock", Format::adblock, "%", 'S'},
    {"adblock-rule", Format::adblock, "||%^", 'S'},
    {"dnsmasq", Format::dnsmasq, "address=/%/#", 'S'},
    {"unbound-zone", Format::unbound, "local-zone: \"%\" always_null", 'S'},
    {"unbound-data", Format::unbound, "local-data: \"% A 0.0.0.0\"", 'X'},
    {"rpz", Format::rpz, "% CNAME .", 'X'},
    {"privoxy", Format::privoxy, "{+block}\n%", 'X'},
    {"urls", Format::urls, "%", 'S'},
    {"url", Format::urls, "http://%/", 'S'},
    {"squidguard-urls", Format::squidguard_urls, "%", 'S'},
    {"csv", Format::csv, "url,x\n\"%\",1", 'S'},
    {"csv-column", Format::csv, "name,x\n\"%\",1", 'S', "name"},
    {"mixed", Format::mixed, "%", 'S'},
    {"mixed-hosts", Format::mixed, "0.0.0.0 %", 'X'},
    {"mixed-rule", Format::mixed, "||%^", 'S'},
    {"networks", Format::networks, "%", 'N'},
}};

// '?' in `want` is the kind of the column. Lists of networks hold no names.
struct Text {
  std::string_view name;
  std::string_view text;
  std::string_view want;
  std::vector<std::pair<std::string_view, std::string_view>> others = {};  // columns that mean something else
};

// In these a '#' is no comment, or stands within quotes.
const std::vector<std::pair<std::string_view, std::string_view>> kNoHashComment{
    {"dnsmasq", kNothing}, {"unbound-zone", kNothing}, {"unbound-data", kNothing}, {"rpz", kNothing}};
// These end before the comment that the row has in their middle.
std::vector<std::pair<std::string_view, std::string_view>> comment_in_the_middle(
    std::vector<std::pair<std::string_view, std::string_view>> more = {}) {
  more.insert(more.end(),
              {{"dnsmasq", kNothing}, {"unbound-zone", kNothing}, {"unbound-data", kNothing}, {"rpz", kNothing}});
  return more;
}

const std::vector<Text>& texts() {
  static const std::vector<Text> kTexts{
      {"Plain", "a.example", "? a.example"},
      {"UpperCase", "A.Example", "? a.example"},
      {"TrailingDot", "a.example.", "? a.example", {{"privoxy", kNothing}}},  // there it is open to the right
      {"TrailingComma", "a.example,", "? a.example", {{"url", kNothing}}},
      {"TrailingSemicolon", "a.example;", "? a.example", {{"url", kNothing}, {"rpz", kNothing}}},
      {"LeadingHyphen", "-sso.host.example", "? -sso.host.example"},
      {"LeadingUnderscore", "_srv.host.example", "? _srv.host.example"},
      {"HyphenBeforeADot", "a-.b.example", "? a-.b.example"},
      {"HyphenThatNoRegistryGives", "-b.example", kNothing, {{"url", "S -b.example"}}},  // seen on the wire
      {"GluedComment", "a.example#why", "? a.example", kNoHashComment},
      {"Comment", "a.example # why", "? a.example", comment_in_the_middle()},
      {"TabComment", "a.example\t# why", "? a.example", comment_in_the_middle()},
      {"SlashComment", "a.example // why", "? a.example", comment_in_the_middle({{"privoxy", kNothing}})},
      {"SemicolonComment", "a.example ; why", "? a.example", comment_in_the_middle({{"privoxy", kNothing}})},
      {"NoBreakSpaceBehind", "a.example\xc2\xa0", "? a.example", {{"url", kNothing}}},
      {"NarrowSpaceBehind", "a.example\xe2\x80\xaf", "? a.example", {{"url", kNothing}}},
      {"IdeographicSpaceBefore",
       "\xe3\x80\x80"
       "a.example",
       "? a.example",
       {{"url", kNothing}}},
      {"Port", "a.example:8080", "? a.example"},
      {"UsualPort", "a.example:443", "? a.example"},
      {"NoPort", "a.example:99999", kNothing},
      {"Ipv4", "192.0.2.1", "X 192.0.2.1"},
      {"Ipv4WithPort", "192.0.2.1:8080", "X 192.0.2.1"},
      {"Ipv6", "2001:db8::1", "X [2001:db8::1]", {{"url", kNothing}}},
      {"Ipv6InBrackets", "[2001:DB8::1]", "X [2001:db8::1]"},
      {"Ipv6WithPort", "[2001:db8::1]:8080", "X [2001:db8::1]"},
      {"Number", "10.1", kNothing, {{"url", "X 10.0.0.1"}}},  // behind a scheme as browsers read it
      {"Star",
       "*.a.example",
       "S a.example",
       // A piece of a URL; what the format itself defines; no pattern but ".a.example"; an octet of the host.
       {{"adblock", kNothing},
        {"adblock-rule", "W a.example"},
        {"mixed-rule", "W a.example"},
        {"rpz", "W a.example"},
        {"privoxy", kNothing},
        {"url", kNothing}}},
      {"LeadingDot",
       ".a.example",
       "S a.example",
       {{"adblock", kNothing}, {"rpz", "X a.example"}, {"adblock-rule", "S a.example"}}},
      {"Range",
       "192.0.2.0/24",
       "N 192.0.2.0/24",
       // '/' ends the name there; a name of DNS has none; a path.
       {{"dnsmasq", "X 192.0.2.0"}, {"rpz", kNothing}, {"privoxy", kNothing}, {"url", "D 192.0.2.0/24/"}}},
      {"RangeOfOneAddress",
       "192.0.2.1/32",
       "N 192.0.2.1/32",
       {{"dnsmasq", "X 192.0.2.1"}, {"rpz", kNothing}, {"privoxy", kNothing}, {"url", "D 192.0.2.1/32/"}}},
      {"RangeOfOneAddressFirstToLast",
       "192.0.2.1-192.0.2.1",
       "N 192.0.2.1/32",
       {{"rpz", kNothing}, {"url", kNothing}, {"mixed-hosts", "N 192.0.2.1/32"}}},
      {"RangeWithHostBits",
       "192.0.2.77/24",
       "N 192.0.2.0/24",
       // squidGuard's urls are paths: a page of that address.
       {{"dnsmasq", "X 192.0.2.77"},
        {"rpz", kNothing},
        {"privoxy", kNothing},
        {"url", "D 192.0.2.77/24/"},
        {"squidguard-urls", "U 192.0.2.77/24, D 192.0.2.77/24/"}}},
      {"RangeOfStars", "192.0.2.*", "N 192.0.2.0/24", {{"rpz", kNothing}, {"url", kNothing}}},
      {"RangeFirstToLast", "192.0.2.1-192.0.2.9", "N 192.0.2.1-192.0.2.9", {{"rpz", kNothing}, {"url", kNothing}}},
      {"Unicode",
       "b\xc3\xbc"
       "cher.example",
       "? xn--bcher-kva.example"},
      {"WideDot",
       "a\xe3\x80\x82"
       "example",
       "? a.example"},
      {"FullWidthDotAndLetter",
       "\xef\xbd\x81\xef\xbc\x8e"
       "example",
       "? a.example"},
      {"CountryOfUnicode", "\xd0\xb0.\xd1\x80\xd1\x84", "? xn--80a.xn--p1ai"},
      {"TopLevelDomain", "com", kNothing, {{"url", "X com"}}},
      {"CountryWithoutARule", "za", kNothing, {{"url", "X za"}}},
      {"CountryInCapitals", "ZA", kNothing, {{"url", "X za"}}},
      {"StarOfACountry", "*.za", kNothing},
      {"DotOfACountry", ".za", kNothing, {{"url", "X za"}}},
      {"BelowACountry", "x.co.za", "? x.co.za"},
      {"RightBelowACountry", "x.za", "? x.za"},
      {"PublicSuffix", "github.io", "? github.io", {{"url", "X github.io"}}},
      {"NetworkOfItsOwn", "x.onion", "? x.onion"},
      {"AlternativeRoot", "x.bit", "? x.bit"},
      {"UnknownTopLevel", "x.nosuchtld", "? x.nosuchtld", {{"adblock", kNothing}, {"csv", kNothing}}},
      {"FileName", "banner.js", "? banner.js", {{"adblock", kNothing}, {"csv", kNothing}}},
  };
  return kTexts;
}

std::string wanted(const Text& text, const Column& column) {
  std::string_view want = text.want;
  if (column.format == Format::networks) {
    if (want == "X 192.0.2.1") return "N 192.0.2.1/32";
    if (want == "X [2001:db8::1]") return "N [2001:db8::1]/128";
    return std::string(want.starts_with('N') ? want : kNothing);
  }
  for (const auto& [name, other] : text.others) {
    if (name == column.name) want = other;
  }
  std::string told(want);
  if (told.starts_with('?')) told.front() = column.kind;
  return told;
}

std::string told(std::string_view text, const Column& column, std::string_view end = "\n") {
  std::string list(column.shape);
  list.replace(list.find('%'), 1, text).append(end);
  ReadOptions options = options_for(column.format);
  options.allow_wide_ranges = true;  // the sink then takes ranges
  options.csv_column = column.csv_column;
  const Reading reading = read_text(list, options);
  std::string entries = reading.error;
  for (const std::string& entry : reading.sink.entries) append(entries, entry);
  return entries.empty() ? std::string(kNothing) : entries;
}

TEST(TheSameHost, MeansTheSameInEveryFormat) {
  std::size_t cells = 0;
  for (const Text& text : texts()) {
    for (const Column& column : kColumns) {
      ++cells;
      EXPECT_EQ(told(text.text, column), wanted(text, column)) << text.name << " in " << column.name;
    }
  }
  EXPECT_EQ(cells, texts().size() * kColumns.size());
  EXPECT_GE(cells, 1'000U);
}

TEST(TheSameHost, HasACarriageReturnBehindIt) {
  for (const Column& column : kColumns) {
    EXPECT_EQ(told("192.0.2.1", column, "\r\n"), told("192.0.2.1", column)) << column.name;
    EXPECT_EQ(told("a.example", column, "\r\r\n"), told("a.example", column)) << column.name;
  }
}

// A line means what it means whatever stands around it.
TEST(TheSameHost, DoesNotDependOnOtherLines) {
  for (const Text& text : texts()) {
    for (const Format format : {Format::domains, Format::urls, Format::mixed, Format::hosts}) {
      const std::string sink = format == Format::hosts ? "0.0.0.0 " : "";
      ReadOptions options = options_for(format);
      options.allow_wide_ranges = true;
      const std::string line = sink + std::string(text.text) + "\n";
      const Reading alone = read_text(line, options);
      const Reading among = read_text(sink + "b.example\n" + line + sink + "198.51.100.0/24\n", options);
      std::vector<std::string> expected{format == Format::hosts ? "X b.example" : "S b.example"};
      expected.insert(expected.end(), alone.sink.entries.begin(), alone.sink.entries.end());
      expected.emplace_back("N 198.51.100.0/24");
      EXPECT_EQ(among.sink.entries, expected) << text.name << " in " << to_string(format);
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter::test
