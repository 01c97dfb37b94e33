// SPDX-License-Identifier: Apache-2.0
#include "conf/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace bloomwall::conf {
namespace {

TEST(Utf8, TakesText) {
  for (const char* text : {"", "plain\ttext\r\n",
                           "b\xc3\xbc"
                           "cher",
                           "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xef\xbb\xbf"
                           "a",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(find_non_text(text), std::nullopt) << text;
  }
}

TEST(Utf8, FindsTheFirstOctetThatIsNone) {
  const struct {
    const char* name;
    std::string text;
  } rows[] = {
      {"lone continuation", "ab\x80"},
      {"latin 1", "ab\xe9x"},
      {"cut sequence", "ab\xe2\x82"},
      {"overlong slash", "ab\xc0\xaf"},
      {"overlong three", "ab\xe0\x80\xaf"},
      {"overlong four", "ab\xf0\x80\x80\xaf"},
      {"surrogate", "ab\xed\xa0\x80"},
      {"beyond U+10FFFF", "ab\xf4\x90\x80\x80"},
      {"five octets", "ab\xf8\x88\x80\x80\x80"},
      {"escape", "ab\x1b[0m"},
      {"delete", "ab\x7f"},
      {"NUL", std::string("ab\0c", 4)},
  };
  for (const auto& row : rows) EXPECT_EQ(find_non_text(row.text), 2U) << row.name;
}

}  // namespace
}  // namespace bloomwall::conf
