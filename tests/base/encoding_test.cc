// SPDX-License-Identifier: Apache-2.0
#include "base/encoding.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "tests/support/seed.h"

namespace bloomwall {
namespace {

using namespace std::string_view_literals;

TEST(Base64, IsThatOfTheStandard) {
  struct Row {
    std::string_view octets, text, of_urls;
  };
  for (const auto& [octets, text, of_urls] : {
           Row{"", "", ""},  // RFC 4648 section 10
           Row{"f", "Zg==", "Zg"},
           Row{"fo", "Zm8=", "Zm8"},
           Row{"foo", "Zm9v", "Zm9v"},
           Row{"foob", "Zm9vYg==", "Zm9vYg"},
           Row{"fooba", "Zm9vYmE=", "Zm9vYmE"},
           Row{"foobar", "Zm9vYmFy", "Zm9vYmFy"},
           Row{"\0"sv, "AA==", "AA"},
           Row{"\xfb\xff\xbf", "+/+/", "-_-_"},
           Row{"\xff\xff\xff\xff", "/////w==", "_____w"},
       }) {
    EXPECT_EQ(to_base64(octets), text);
    EXPECT_EQ(from_base64(text), octets) << text;
    EXPECT_TRUE(is_base64(text)) << text;
    EXPECT_EQ(to_base64url(octets), of_urls);
    EXPECT_EQ(from_base64url(of_urls), octets) << of_urls;
  }
}

TEST(Base64, ReadsNothingThatItDoesNotWrite) {
  for (const std::string_view text :
       {"A"sv,     "AA"sv,       "AAA"sv,      "AAAAA"sv,   "="sv,        "=="sv,       "==="sv,
        "===="sv,  "A==="sv,     "AA="sv,      "AAAA="sv,   "AAAA=="sv,   "AA=A"sv,     "A=AA"sv,
        "=AAA"sv,  "AA==AAAA"sv, "AA=AAAA="sv, "AB=="sv,    "AAB="sv,     "A/=="sv,     "AA/="sv,
        " AAAA"sv, "AAAA "sv,    "AAAA\n"sv,   "AA\nAA"sv,  "   AAAAA"sv, "AAAA\r\n"sv, "AAA-"sv,
        "AAA_"sv,  "-AAA"sv,     "AAAA----"sv, "AAA\xe9"sv, "AAA\0"sv,    "AA\0="sv}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
    EXPECT_FALSE(is_base64(text)) << text;
  }
  for (const std::string_view text : {"A"sv, "AAAAA"sv, "AA=="sv, "AAA="sv, "AB"sv, "AAB"sv, "A_"sv, "AAA+"sv, "AAA/"sv,
                                      " AAA"sv, "AAA\n"sv, "AA\0A"sv, "AAA\xe9"sv}) {
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
  }
}

TEST(Base64, HasOneTextForEachRowOfOctets) {
  std::mt19937 random(test::test_seed());
  constexpr std::string_view kLetters = "ABCgz09+/-_=";
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 13, '\0');
    for (char& c : text) c = kLetters[random() % kLetters.size()];
    if (const auto octets = from_base64(text)) {
      EXPECT_EQ(to_base64(*octets), text);
    }
    if (const auto octets = from_base64url(text)) {
      EXPECT_EQ(to_base64url(*octets), text);
    }
    EXPECT_EQ(from_base64(to_base64(text)), text);
    EXPECT_EQ(from_base64url(to_base64url(text)), text);
  }
}

TEST(Base64, IsAppendedWithoutMovingWhatIsThere) {
  std::string out = "user:";
  ASSERT_TRUE(append_from_base64("c2VjcmV0", out));
  EXPECT_EQ(out, "user:secret");
  out.reserve(100);
  const void* const at = out.data();
  ASSERT_TRUE(append_from_base64("c2VjcmV0", out));
  EXPECT_EQ(out.data(), at);
  EXPECT_FALSE(append_from_base64("c2VjcmV*", out));
}

TEST(Hex, IsTwoDigitsForEachOctet) {
  EXPECT_EQ(to_hex(std::array<std::uint8_t, 4>{0, 0x0f, 0xa0, 0xff}), "000fa0ff");
  EXPECT_EQ(parse_hex<4>("000Fa0fF"), (std::array<std::uint8_t, 4>{0, 0x0f, 0xa0, 0xff}));
  for (const std::string_view text : {"", "0", "00", "000", "00000", "000g", "00 0", "0x00", "-000", "00\0000"}) {
    EXPECT_EQ(parse_hex<2>(text), std::nullopt) << text;
  }
  EXPECT_TRUE(is_lower_hex("0123456789abcdef"));
  EXPECT_TRUE(is_lower_hex(""));
  EXPECT_FALSE(is_lower_hex("aA"));
  EXPECT_FALSE(is_lower_hex("g"));
}

TEST(Hex, ReadsAnOctetAtAPlace) {
  EXPECT_EQ(hex_octet("%4a", 1), 0x4a);
  EXPECT_EQ(hex_octet("%4A", 1), 0x4a);
  EXPECT_EQ(hex_octet("%4", 1), -1);
  EXPECT_EQ(hex_octet("%4g", 1), -1);
  EXPECT_EQ(hex_octet("4", 0), -1);
  EXPECT_EQ(hex_octet("44", ~std::size_t{0}), -1);
  for (int c = 0; c < 256; ++c) {
    const std::size_t at = kHexDigits.find(static_cast<char>(c)), upper = kUpperHexDigits.find(static_cast<char>(c));
    const std::size_t value = at != std::string_view::npos ? at : upper;
    EXPECT_EQ(hex_value(static_cast<char>(c)), value == std::string_view::npos ? -1 : static_cast<int>(value)) << c;
  }
}

TEST(PercentEscape, IsInUpperCase) {
  std::string out = "a";
  append_percent_escape('/', out);
  append_percent_escape('\xe9', out);
  append_percent_escape('\0', out);
  EXPECT_EQ(out, "a%2F%E9%00");
}

}  // namespace
}  // namespace bloomwall
