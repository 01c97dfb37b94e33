// SPDX-License-Identifier: Apache-2.0
#include "filter/url/entry.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace bloomwall::filter {
namespace {

const char* name_of(EntryProblem problem) {
  switch (problem) {
    case EntryProblem::none:
      return "";
    case EntryProblem::odd:
      return "odd ";
    case EntryProblem::empty:
      return "empty";
    case EntryProblem::no_host:
      return "no host";
    case EntryProblem::single_label:
      return "single ";
    case EntryProblem::pattern:
      return "pattern";
  }
  return "?";
}

// "S example.com", or "odd U example.com/a, U example.com/b", or "pattern".
std::string shown(const ParsedEntry& parsed) {
  std::string out = name_of(parsed.problem);
  for (std::size_t i = 0; i < parsed.entries.size(); ++i) {
    const Entry& e = parsed.entries[i];
    out += fmt::format("{}{} {}", i == 0 ? "" : ", ", static_cast<char>(e.kind), text_of(e));
  }
  return out;
}

struct EntryCase {
  std::string text, want;
};

void check(const std::vector<EntryCase>& cases, ParsedEntry (EntryParser::*parse)(std::string_view)) {
  EntryParser parser;
  for (const EntryCase& c : cases) EXPECT_EQ(shown((parser.*parse)(c.text)), c.want) << c.text;
}

TEST(EntryTest, AnyDecidesByShape) {
  check({{"example.com", "S example.com"},
         {"*.example.com", "S example.com"},
         {".example.com", "S example.com"},
         {"||example.com^", "S example.com"},
         {"Example.COM.", "S example.com"},
         {"  example.com \r", "S example.com"},
         {"example.com/", "S example.com"},
         {"http://example.com/", "S example.com"},
         {"https://example.com", "S example.com"},
         {"example.com:8080", "S example.com"},
         {"http://example.com/a/b.html", "U example.com/a/b.html"},
         {"example.com/a/b.html", "U example.com/a/b.html"},
         {"http://example.com/a/b.html?q", "Q example.com/a/b.html?q"},
         {"example.com?q", "Q example.com/?q"},
         {"http://example.com/a/", "D example.com/a/"},
         {"example.com/redirect?to=http://example.org/", "Q example.com/redirect?to=http://example.org/"}},
        &EntryParser::any);
}

TEST(EntryTest, AddressesAreExactInEverySpelling) {
  check({{"192.0.2.1", "X 192.0.2.1"},
         {"http://0xC0000201/", "X 192.0.2.1"},
         {"192.0.2.1.", "X 192.0.2.1"},
         {".192.0.2.1", "X 192.0.2.1"},
         {"||192.0.2.1^", "X 192.0.2.1"},
         {"http://192.0.2.1/", "X 192.0.2.1"},
         {"192.0.2.1:8080", "X 192.0.2.1"},
         {"192.0.2.1/a", "U 192.0.2.1/a"},
         {"2001:DB8::1", "X [2001:db8::1]"},
         {"[2001:db8::1]", "X [2001:db8::1]"},
         {"||[2001:db8::1]^", "X [2001:db8::1]"},
         {"http://[2001:db8::1]/", "X [2001:db8::1]"},
         {"[2001:db8::1]:80", "X [2001:db8::1]"},
         {"::ffff:192.0.2.1", "X 192.0.2.1"},
         {"http://[2001:db8::1]/a", "U [2001:db8::1]/a"}},
        &EntryParser::any);
}

TEST(EntryTest, ALoneQuestionMarkIsNoQuery) {
  check({{"http://example.com/?", "S example.com"},
         {"http://example.com/a?", "U example.com/a"},
         {"http://example.com/a/?", "D example.com/a/"}},
        &EntryParser::any);
}

TEST(EntryTest, AQueryEntryHasNoTrailingSlash) {
  check({{"http://example.com/a/?q", "Q example.com/a?q"}, {"http://example.com/?q", "Q example.com/?q"}},
        &EntryParser::any);
}

TEST(EntryTest, AnAmbiguousPathGivesEveryFormOnce) {
  check({{"http://example.com/a%2Fb", "U example.com/a/b, U example.com/a%2Fb"},
         {"http://example.com/a//../b", "U example.com/b, U example.com/a/b"},
         {"http://example.com/a%3fb", "Q example.com/a?b, U example.com/a%3Fb"},
         {"http://example.com/x/%252e%252e/a/", "D example.com/a/, D example.com/x/../a/"}},
        &EntryParser::any);
}

TEST(EntryTest, AFormThatIsTheRootIsNotTheWholeHost) {
  check({{"http://example.com/a%2f/..", "U example.com/, D example.com/a/"},
         {"http://192.0.2.1/a%2f/..", "U 192.0.2.1/, D 192.0.2.1/a/"},
         {"http://example.com/a/..", "S example.com"}},
        &EntryParser::any);
}

TEST(EntryTest, NamesBeyondAsciiAreConverted) {
  check({{"b\u00FCcher.example", "S xn--bcher-kva.example"},
         {"http://b\u00FCcher.example/\u00FC", "U xn--bcher-kva.example/%C3%BC"},
         {"XN--BCHER-KVA.example", "S xn--bcher-kva.example"}},
        &EntryParser::any);
}

TEST(EntryTest, OddSpellingsAreTakenWithTheirReason) {
  check({{"www..example.com", "odd S www.example.com"},
         {"http://user@example.com/a", "odd U example.com/a"},
         {"ex%61mple.com", "odd S example.com"},
         {"http:\\\\example.com\\a", "odd U example.com/a"},
         {"exam!ple.com", "odd S exam!ple.com"},
         {"%63om", "odd S com"}},
        &EntryParser::any);
  EntryParser parser;
  EXPECT_EQ(parser.any("www..example.com").url_reason, UrlReason::odd_dots);
  EXPECT_EQ(parser.any("example.com").url_reason, UrlReason::none);
}

TEST(EntryTest, ABareWordIsTakenAndNamed) {
  check({{"intranet", "single S intranet"},
         {"http://intranet/", "single S intranet"},
         {".zip", "single S zip"},
         {"intranet/a", "U intranet/a"}},
        &EntryParser::any);
}

TEST(EntryTest, WhatHasNoHostSaysWhy) {
  EntryParser parser;
  for (const char* const text : {"256.1.1.1", "http://256.1.1.1/"}) {
    EXPECT_EQ(shown(parser.any(text)), "no host") << text;
    EXPECT_EQ(parser.any(text).url_reason, UrlReason::bad_ipv4) << text;
  }
  for (const char* const text :
       {"0xC0000201", "85285", "10.1", "1.2.3", "010.0.0.1", "||1.2.3^", "*.10.1", "10.1/a", "10.1:80"}) {
    EXPECT_EQ(shown(parser.any(text)), "no host") << text;
    EXPECT_EQ(parser.any(text).url_reason, UrlReason::bad_ipv4) << text;
  }
  EXPECT_EQ(parser.any("mailto:someone@example.com").problem, EntryProblem::pattern);
  EXPECT_EQ(parser.any("example.com:http").url_reason, UrlReason::unknown_scheme);
  EXPECT_EQ(parser.any("gopher://example.com/").url_reason, UrlReason::unknown_scheme);
  EXPECT_EQ(parser.url("/a").url_reason, UrlReason::empty_host);
}

TEST(EntryTest, PatternsAreNotGuessed) {
  for (const char* const text :
       {"ex*mple.com", "*", "*.*.com", "*.example.com/a", ".example.com/a", "||example.com", "||example.com/a^",
        "||ex*le.com^", "|http", "ex*mple.com/a", "http://*.example.com/a", "10.0.0.0/8", "192.0.2.1/32",
        "2001:db8::/32", "[2001:db8::]/32", "user@example.com", "@ads", "a|b.com", "example.com^"}) {
    EXPECT_EQ(shown(EntryParser().any(text)), "pattern") << text;
  }
}

TEST(EntryTest, RulesForOneHostAndForSubdomains) {
  check({{"|example.com^", "X example.com"},
         {"||*.example.com^", "W example.com"},
         {"|192.0.2.1^", "X 192.0.2.1"},
         {"|*.example.com^", "pattern"},
         {"||*.*.example.com^", "pattern"},
         {"|example.com", "pattern"},
         {"|example.com/a^", "pattern"}},
        &EntryParser::any);
}

TEST(EntryTest, NothingIsEmpty) {
  EntryParser parser;
  for (const char* const text : {"", " \t", "*.", ".", "||^"}) EXPECT_TRUE(parser.any(text).entries.empty()) << text;
  EXPECT_EQ(parser.any(" ").problem, EntryProblem::empty);
  EXPECT_EQ(parser.domain("").problem, EntryProblem::empty);
  EXPECT_EQ(parser.url("\t").problem, EntryProblem::empty);
}

TEST(EntryTest, DomainTakesTheKindThatIsAskedFor) {
  EntryParser parser;
  EXPECT_EQ(shown(parser.domain("Example.com")), "S example.com");
  EXPECT_EQ(shown(parser.domain("example.com", Kind::exact_host)), "X example.com");
  EXPECT_EQ(shown(parser.domain("example.com", Kind::subdomains)), "W example.com");
  EXPECT_EQ(shown(parser.domain("192.0.2.1", Kind::suffix)), "X 192.0.2.1");
  EXPECT_EQ(shown(parser.domain("2001:db8::1", Kind::subdomains)), "X [2001:db8::1]");
  EXPECT_EQ(shown(parser.domain("example.com/a")), "pattern");
  EXPECT_EQ(parser.domain("example.com:80").url_reason, UrlReason::separator_in_host);
}

TEST(EntryTest, UrlReadsARangeAsAddressAndPath) {
  check({{"http://10.0.0.0/8", "U 10.0.0.0/8"}, {"10.0.0.0/8", "U 10.0.0.0/8"}}, &EntryParser::url);
}

TEST(EntryTest, TextIsWhatPeopleSee) {
  EXPECT_EQ(text_of({.kind = Kind::raw, .path = "any bytes"}), "any bytes");
  EXPECT_EQ(text_of({.kind = Kind::subdomains, .host = "example.com"}), "example.com");
  EXPECT_EQ(text_of({.kind = Kind::url_query, .host = "example.com", .path = "/a", .query = "b"}), "example.com/a?b");
}

}  // namespace
}  // namespace bloomwall::filter
