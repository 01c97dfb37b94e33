// Text that strangers type: what could hide, turn or run is left out, and all else stays.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/plain_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

struct PlainCase {
  const char* name;
  std::string given, wanted;
  std::size_t most = 500;
};

class PlainText : public testing::TestWithParam<PlainCase> {};

TEST_P(PlainText, IsLeftOfIt) {
  EXPECT_EQ(plain_text(GetParam().given, GetParam().most), GetParam().wanted);
  EXPECT_EQ(plain_text(GetParam().wanted, GetParam().most), GetParam().wanted) << "it is plain already";
}

INSTANTIATE_TEST_SUITE_P(
    Rules, PlainText,
    testing::Values(PlainCase{"Words", "It is a shop, 5 < 6 & \"so\" on", "It is a shop, 5 < 6 & \"so\" on"},
                    PlainCase{"LettersOfAllPeoples", "Grüße, привет, 日本, עברית, 😀",
                              "Grüße, привет, 日本, עברית, 😀"},
                    PlainCase{"EndsOfLinesAreBlanks", "  a\r\n\tb\u00a0 c\u2028d ", "a b c d"},
                    PlainCase{"EscapeSequencesLoseTheirEscape", "a\x1b[31mred\x07\x7f", "a[31mred"},
                    PlainCase{"C1Controls", "a\u009b31mb\u0085c", "a31mbc"},
                    PlainCase{"TurnsOfDirection", "gpj.\u202etxe\u202c \u2067a\u2069 \u200fb \u061cc", "gpj.txe a b c"},
                    PlainCase{"WhatIsNotSeen", "a\u200bb\ufeffc\u00add\U000e0041e", "abcde"},
                    PlainCase{"OctetsThatAreNoUtf8", "a\xff\xc0\xaf\xed\xa0\x80\xe2\x82 b", "a b"},
                    PlainCase{"CharactersAreCounted", "äöüß", "äöü", 3}, PlainCase{"NoBlankAtTheEnd", "ab cd", "ab", 3},
                    PlainCase{"Nothing", "", ""}, PlainCase{"BlanksAlone", " \n \t", ""}),
    [](const auto& each) { return each.param.name; });

TEST(PlainTextOf, RandomOctetsIsAFixedPointWithinItsLength) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  std::mt19937 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 64, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string plain = plain_text(text, 20);
    ASSERT_EQ(plain_text(plain, 20), plain) << "seed " << seed << ", round " << round;
    ASSERT_LE(plain.size(), 80U) << "seed " << seed;
    for (const char c : plain) ASSERT_GE(static_cast<unsigned char>(c), 0x20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
