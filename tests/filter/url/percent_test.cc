// SPDX-License-Identifier: Apache-2.0
#include "filter/url/percent.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace bloomwall::filter {
namespace {

std::string fully(std::string_view in) {
  std::string out;
  append_decoded_fully(in, out);
  return out;
}

std::string once(std::string_view in) {
  std::string out;
  append_decoded_once(in, out);
  return out;
}

std::string escaped(std::string_view in, Separators separators = Separators::plain) {
  std::string out;
  append_escaped(in, separators, out);
  return out;
}

TEST(PercentTest, HexValues) {
  EXPECT_EQ(hex_value('0'), 0);
  EXPECT_EQ(hex_value('9'), 9);
  EXPECT_EQ(hex_value('a'), 10);
  EXPECT_EQ(hex_value('F'), 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`', '\x80', '\0'}) EXPECT_EQ(hex_value(c), -1) << c;
}

TEST(PercentTest, EscapeNeedsTwoHexDigits) {
  EXPECT_EQ(escape_at("%41", 0), 0x41);
  EXPECT_EQ(escape_at("x%fF", 1), 0xFF);
  for (const char* const malformed : {"%", "%4", "%4g", "%g4", "%%41"})
    EXPECT_EQ(escape_at(malformed, 0), -1) << malformed;
}

TEST(PercentTest, DecodesToTheFixpoint) {
  EXPECT_EQ(fully("%25252541"), "A");
  EXPECT_EQ(fully("%%34%31"), "A");
  EXPECT_EQ(fully("%2%35%34%31"), "A");
  EXPECT_EQ(fully("%zz%4%"), "%zz%4%");
  EXPECT_EQ(fully("100%25"), "100%");
  EXPECT_EQ(fully(""), "");
}

TEST(PercentTest, DecodesOnce) {
  EXPECT_EQ(once("%2541"), "%41");
  EXPECT_EQ(once("%%341"), "%41");
  EXPECT_EQ(once("%zz%4%"), "%zz%4%");
  EXPECT_EQ(once("a%2Fb"), "a/b");
}

TEST(PercentTest, TheFixpointIsWhereRepeatedDecodingEnds) {
  constexpr std::uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  constexpr std::string_view kDense = "%%%%25416fFg/";
  constexpr std::string_view kSparse = "%%%25abcdefghijklmnopqrstuvwxyz";  // with runs between that are copied whole
  for (int i = 0; i < 40000; ++i) {
    const std::string_view alphabet = i % 2 == 0 ? kDense : kSparse;
    std::string text;
    for (std::uint64_t n = random() % (i % 2 == 0 ? 24 : 80); n > 0; --n) text += alphabet[random() % alphabet.size()];
    std::string repeated = text;
    while (once(repeated) != repeated) repeated = once(repeated);
    ASSERT_EQ(fully(text), repeated) << text << " seed " << kSeed;
  }
}

TEST(PercentTest, WhatWasThereBeforeTakesNoPart) {
  std::string out = "%4";
  append_decoded_fully("1%31", out);
  EXPECT_EQ(out, "%411");
}

TEST(PercentTest, WritesEscapesInUpperCase) {
  std::string out = "%a";
  append_escapes_in_upper_case("0%c3%a9%Ff%zz%a%2f%e", out);
  EXPECT_EQ(out, "%a0%C3%A9%FF%zz%a%2F%e");
}

TEST(PercentTest, EscapesControlsBlanksHashAndPercent) {
  EXPECT_EQ(escaped(std::string_view("\0\x1F \x7F\x80\xFF#%", 8)), "%00%1F%20%7F%80%FF%23%25");
  EXPECT_EQ(escaped("!\"$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~"), "!\"$&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~");
}

TEST(PercentTest, EscapesSeparatorsThatAreData) {
  EXPECT_EQ(escaped("a/b\\c?d#", Separators::escape), "a%2Fb%5Cc%3Fd%23");
}

}  // namespace
}  // namespace bloomwall::filter
