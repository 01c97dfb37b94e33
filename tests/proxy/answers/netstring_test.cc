// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/netstring.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "tests/proxy/answers/cuts.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMost = 20;

bool feed_netstrings(NetstringReader& reader, std::span<const char> bytes, std::string& out) {
  for (;;) {
    const NetstringReader::Step step = reader.feed(bytes);
    bytes = bytes.subspan(step.consumed);
    switch (step.event) {
      case NetstringReader::Event::need_more:
        return true;
      case NetstringReader::Event::text:
        out.append("[").append(reader.text()).append("]");
        reader.next();
        continue;
      case NetstringReader::Event::malformed:
        out += "malformed";
        return false;
      case NetstringReader::Event::too_long:
        out += "too long";
        return false;
    }
  }
}

struct NetstringCase {
  std::string_view octets, want;
};

TEST(NetstringReader, ReadsTextsAndRefusesOtherSpellings) {
  std::mt19937 random(test::test_seed());
  for (const NetstringCase& row : {
           NetstringCase{"12:hello world!,", "[hello world!]"},  // of the specification
           NetstringCase{"0:,", "[]"},
           NetstringCase{"0:,1:a,2:bc,", "[][a][bc]"},
           NetstringCase{"3:a,b,", "[a,b]"},
           NetstringCase{"5:a\n:\r,,", "[a\n:\r,]"},
           NetstringCase{"20:01234567890123456789,", "[01234567890123456789]"},
           NetstringCase{"21:", "too long"},
           NetstringCase{"99999999999999999999999999", "too long"},
           NetstringCase{"00:,", "malformed"},
           NetstringCase{"01:a,", "malformed"},
           NetstringCase{":a,", "malformed"},
           NetstringCase{"+1:a,", "malformed"},
           NetstringCase{" 1:a,", "malformed"},
           NetstringCase{"1 :a,", "malformed"},
           NetstringCase{"1:ab", "malformed"},
           NetstringCase{"1:a,\n", "[a]malformed"},
           NetstringCase{"GET / HTTP/1.1\r\n", "malformed"},
           NetstringCase{"4:abc", ""},
       }) {
    bool is_same = false;
    EXPECT_EQ(answers_test::in_any_pieces(
                  row.octets, [] { return NetstringReader(kMost); }, feed_netstrings, random, is_same),
              row.want);
    EXPECT_TRUE(is_same) << row.octets;
  }
}

TEST(NetstringReader, ReadsWhatIsWrittenHoweverItIsCut) {
  std::mt19937 random(test::test_seed());
  for (int round = 0; round < 200; ++round) {
    std::string octets, want;
    for (unsigned count = 0; count < 4; ++count) {
      std::string text(random() % (kMost + 1), '\0');
      for (char& c : text) c = static_cast<char>(random());
      append_netstring(octets, text);
      want.append("[").append(text).append("]");
    }
    bool is_same = false;
    EXPECT_EQ(answers_test::in_any_pieces(
                  octets, [] { return NetstringReader(kMost); }, feed_netstrings, random, is_same),
              want);
    EXPECT_TRUE(is_same);
  }
}

TEST(NetstringReader, KeepsNothingOfATextThatIsTooLong) {
  NetstringReader reader(1000);
  EXPECT_EQ(reader.feed(std::string_view("1001:aaaa")).event, NetstringReader::Event::too_long);
  EXPECT_LT(reader.memory(), 100U);
}

}  // namespace
}  // namespace bloomwall::proxy
