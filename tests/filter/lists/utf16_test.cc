// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/utf16.h"

#include <gtest/gtest.h>

#include <string>

#include "filter/lists/list_input.h"
#include "tests/filter/lists/list_text.h"

namespace bloomwall::filter::test {
namespace {

std::string utf16(std::u16string_view text, bool big, bool mark = true) {
  std::string out;
  const auto put = [&](char16_t unit) {
    const auto high = static_cast<char>(unit >> 8U);
    const auto low = static_cast<char>(unit & 0xFFU);
    out += big ? std::string{high, low} : std::string{low, high};
  };
  if (mark) put(0xFEFF);
  for (const char16_t unit : text) put(unit);
  return out;
}

std::string decoded(std::string_view bytes, TextEncoding encoding, std::size_t step) {
  Utf16Decoder decoder(encoding);
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += step) decoder.decode(bytes.substr(at, step), out);
  decoder.finish(out);
  return out;
}

TEST(Utf16, BecomesUtf8WhereverAPieceEnds) {
  const std::u16string text = u"a\u00fc\u20ac\U0001F600z\n";
  const std::string want = "a\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80z\n";
  for (const std::size_t step : {1U, 2U, 3U, 100U}) {
    EXPECT_EQ(decoded(utf16(text, false, false), TextEncoding::utf16_little, step), want);
    EXPECT_EQ(decoded(utf16(text, true, false), TextEncoding::utf16_big, step), want);
  }
}

TEST(Utf16, HalvesBecomeTheReplacement) {
  const std::string gone = "\xef\xbf\xbd";
  const auto big = [](std::string_view bytes) { return decoded(bytes, TextEncoding::utf16_big, 1); };
  EXPECT_EQ(big(std::string_view("\xd8\x00\x00\x61", 4)), gone + "a");
  EXPECT_EQ(big(std::string_view("\xdc\x00\x00\x61", 4)), gone + "a");
  EXPECT_EQ(big(std::string_view("\x00\x61\x00", 3)), "a" + gone);
  EXPECT_EQ(big(std::string_view("\xd8\x00", 2)), gone);
  EXPECT_EQ(big(std::string_view("\xd8\x00\xd8\x00\xdc\x00", 6)), gone + "\xf0\x90\x80\x80");
}

TEST(Utf16, IsToldByItsMark) {
  EXPECT_EQ(encoding_of("\xff\xfe"), TextEncoding::utf16_little);
  EXPECT_EQ(encoding_of("\xfe\xff"), TextEncoding::utf16_big);
  EXPECT_EQ(encoding_of(std::string_view("\xff\xfe\0\0", 4)), TextEncoding::utf8) << "UTF-32";
  for (const char* text : {"", "\xff", "a.test\n", "\xef\xbb\xbf"}) EXPECT_EQ(encoding_of(text), TextEncoding::utf8);
}

TEST(Utf16, IsReadAsAList) {
  const std::u16string text = u"# B\u00fccher\r\na.test\r\n\r\nb\u00fccher.test\r\nhttp://c.test/x\r\n";
  for (const bool big : {false, true}) {
    const std::string bytes = utf16(text, big);
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, kInputChunkBytes}) {
      const Reading reading = read_text(bytes, ReadOptions{}, {}, step);
      EXPECT_EQ(describe(reading), "S a.test, S xn--bcher-kva.test, U c.test/x, blank, comment");
      expect_sums(reading);
    }
  }
}

TEST(Utf16, ATableOfExcelIsRead) {
  EXPECT_EQ(describe(read_text(utf16(u"url\tday\r\nhttp://a.test/x\t1\r\n", false), ReadOptions{})),
            "U a.test/x, boilerplate");
}

TEST(Utf16, AMarkAloneIsAnEmptyList) {
  for (const std::string_view text : {"\xff\xfe", "\xfe\xff"}) {
    EXPECT_EQ(read_text(text, ReadOptions{}, {}, 1).report.lines, 0U);
  }
}

TEST(Utf16, OfRawKeysIsNotTouched) {
  const std::string bytes = utf16(u"a\n", false);
  ListInput input = ListInput::of_memory(bytes, "x");
  LineBlocks blocks(input, LineBlocks::Mark::keep);
  LineBlock block;
  ASSERT_TRUE(blocks.next(block));
  EXPECT_EQ(block.text, bytes.substr(0, 5));
}

}  // namespace
}  // namespace bloomwall::filter::test
