// Entries of a delta that are left as text: which lines are, that a reader takes them, and that changes to them give
// the text that parsing would have given.
// SPDX-License-Identifier: Apache-2.0
#include "filter/update/written_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "filter/update/delta_text.h"
#include "tests/filter/policy/filter_maker.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

const KeyMaker kKeys{SeriesKey{}};
const KeyMaker kKeysOfParameters{SeriesKey{}, QueryReading::by_parameters};

struct WrittenLinesRow {
  std::string_view rule, lines;
  bool are_written;
};
const auto kWrittenLinesRows = std::to_array<WrittenLinesRow>({
    {"names", "+S example.com\n-X a-b.example.com\n+W 1.2.x\n", true},
    {"URLs", "+U example.com/a.b/C_~=&+,-d\n+D example.com/a/\n-U example.com/\n+Q example.com/a?b=c\n", true},
    {"paths that only a parser knows to be canonical", "+U example.com/a%2Fb\n+U example.com/a;b\n", true},
    {"names that only a parser knows to be canonical", "+S xn--mnchen-3ya.de\n+S com\n+S a_b.example.com\n", true},
    {"addresses", "+X 192.0.2.1\n-X [2001:db8::1]\n", true},
    {"raw keys", "+R example.com\n-R  two blanks \n+R cr\r\r\n", true},
    {"no lines", "", true},
    {"without a kind", "+example.com\n", false},
    {"networks", "+N 192.0.2.0/24\n", false},
    {"an unknown kind", "+Z example.com\n", false},
    {"no sign", "S example.com\n", false},
    {"a comment", "# why\n", false},
    {"a comment behind it", "+S example.com # why\n", false},
    {"an empty line", "+S example.com\n\n", false},
    {"blanks before it", " +S example.com\n", false},
    {"blanks within", "+ S example.com\n", false},
    {"blanks behind the kind", "+S  example.com\n", false},
    {"blanks behind it", "+S example.com \n", false},
    {"a tab behind the kind", "+S\texample.com\n", false},
    {"CR and LF", "+S example.com\r\n", false},
    {"a raw key, of whose CRs a reader takes the only one", "+R cr\r\n", false},
    {"a byte order mark", "\xef\xbb\xbf+S example.com\n", false},
    {"no LF at the end", "+S example.com", false},
    {"the same twice", "+S example.com\n+S example.com\n", false},
    {"added and removed", "+S example.com\n+S example.org\n-S example.com\n", false},
    {"capitals", "+S Example.com\n", false},
    {"a scheme", "+U http://example.com/a\n", false},
    {"a port", "+S example.com:80\n", false},
    {"a dot at the end", "+S example.com.\n", false},
    {"an empty label", "+S example..com\n", false},
    {"a host that no request can have", "+S a,b.example\n", false},
    {"an address as a suffix", "+S 192.0.2.1\n", false},
    {"an address that is spelt oddly", "+X 192.0.2.01\n", false},
    {"a URL for a host", "+S example.com/a\n", false},
    {"a host for a URL", "+U example.com\n", false},
    {"a directory as a URL", "+U example.com/a/\n", false},
    {"a URL as a directory", "+D example.com/a\n", false},
    {"segments that go up", "+U example.com/a/../b\n", true},  // canonical: a name
    {"an escape of what needs none", "+U example.com/%41\n", false},
    {"a raw key of no octets", "+R \n", false},
});

TEST(WrittenLines, AreThoseThatUpdateWrites) {
  for (const WrittenLinesRow& row : kWrittenLinesRows) {
    const auto lines = WrittenLines::of(row.lines, kKeys);
    EXPECT_EQ(lines.has_value(), row.are_written) << row.rule;
    if (!lines) continue;
    std::string again;
    lines->append_to(again);
    EXPECT_EQ(again, row.lines) << row.rule;
  }
}

TEST(WrittenLines, QueriesAreWrittenAsTheFilterReadsThem) {
  EXPECT_TRUE(WrittenLines::of("+Q example.com/a?id=\n", kKeys));
  EXPECT_FALSE(WrittenLines::of("+Q example.com/a?id=\n", kKeysOfParameters)) << "its plain query is another one";
}

TEST(WrittenLines, AnswerAndForget) {
  auto lines = WrittenLines::of("+S a.example\n-S b.example\n+R cr\r\r\n+X 192.0.2.1\n-X 192.0.2.2\n", kKeys);
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->answer("S a.example"), DeltaAnswer::added);
  EXPECT_EQ(lines->answer("S b.example"), DeltaAnswer::removed);
  EXPECT_EQ(lines->answer("R cr\r"), DeltaAnswer::added);
  EXPECT_EQ(lines->answer("X a.example"), DeltaAnswer::nothing);
  EXPECT_THAT(lines->added_addresses(), testing::ElementsAre(*read_address("192.0.2.1")));
  lines->remove("S a.example");
  lines->remove("S a.example");
  lines->remove("S c.example");
  EXPECT_EQ(lines->answer("S a.example"), DeltaAnswer::nothing);
  EXPECT_EQ(lines->added(), 2U);
  EXPECT_EQ(lines->removed(), 2U);
  EXPECT_EQ(lines->remove_all(DeltaAnswer::removed), 2U);
  std::string rest;
  lines->append_to(rest);
  EXPECT_EQ(rest, "+R cr\r\r\n+X 192.0.2.1\n");
}

class RandomLines {
 public:
  explicit RandomLines(std::uint64_t seed) : random_(seed) {}
  std::uint64_t pick(std::uint64_t many) { return random_() % many; }

  // Near the border of what is plain.
  std::string text(std::size_t most) {
    static constexpr auto kPieces = std::to_array<std::string_view>(
        {"a",  "b9", "-", ".", "/",   "x.y", "com", "xn--",     "1",  "%41", "%2F", "..",  "_",       "A", "=",
         "&",  "+",  ",", "~", ";",   "?",   "*",   "#",        "\\", "|",   ":",   "0x7", "example", " ", "@",
         "//", "/.", "!", "$", "%zz", "[",   "]",   "\xc3\xa4", "",   "--",  "-.",  ".-",  "net",     "/b"});
    std::string out;
    for (std::uint64_t i = 1 + pick(most); i > 0; --i) out += kPieces[pick(kPieces.size())];
    return out;
  }
  std::string line() {
    static constexpr std::string_view kKinds = "SXWUQDR";
    const char kind = kKinds[pick(kKinds.size())];
    const std::string host = pick(4) == 0 ? text(5) : "h" + std::to_string(pick(50)) + ".example.com";
    const bool has_path = kind == 'U' || kind == 'Q' || kind == 'D';
    const std::string path = has_path ? "/" + text(5) : "";
    return std::string(1, pick(2) == 0 ? '+' : '-') + kind + ' ' + host + path + (kind == 'D' ? "/" : "") +
           (kind == 'Q' ? "?" + text(3) : "") + '\n';
  }

 private:
  std::mt19937_64 random_;
};

// What is not parsed is what a reader takes, as the same entry.
TEST(WrittenLines, AReaderTakesThemAsTheyAre) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomLines random(seed);
  unsigned written = 0;
  for (int i = 0; i < 60'000; ++i) {
    const std::string line = random.line();
    if (!WrittenLines::of(line, kKeys)) continue;
    ++written;
    const std::string parsed = Delta::first_line(id_of(1)) + '\n' + line;
    const auto text = DeltaText::read(parsed, "d", kKeys, id_of(1));  // without a number of changes: parsed
    ASSERT_TRUE(text) << line << texts_of(text.error());
    EXPECT_EQ(text->text(), Delta::first_line(id_of(1), 0, 1) + '\n' + line);
  }
  EXPECT_GT(written, 10'000U);
}

std::string changes_of(const DeltaText& text) { return text.text().substr(text.text().find('\n') + 1); }

// The same changes, to a text that is left as it is and to one that is parsed.
TEST(WrittenLines, ChangesGiveWhatParsingWouldGive) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomLines random(seed);
  const auto entry = [&] {
    const std::string n = std::to_string(random.pick(60));
    switch (random.pick(6)) {
      case 0:
        return OwnEntry("S h" + n + ".example.com");
      case 1:
        return OwnEntry("X 192.0.2." + n);
      case 2:
        return OwnEntry("U h" + n + ".example.com/a%2Fb");
      case 3:
        return OwnEntry("D h" + n + ".example.com/" + n + "/");
      case 4:
        return OwnEntry("R key " + n + "\r");
      default:
        return OwnEntry("W h" + n + ".example.com");
    }
  };
  for (int round = 0; round < 40; ++round) {
    DeltaText start(id_of(1), kKeys);
    const auto change = [&](DeltaText& one, DeltaText& other) {
      const auto answer = static_cast<DeltaAnswer>(random.pick(3));
      if (random.pick(8) == 0) {
        const auto first = static_cast<unsigned>(random.pick(16)) * 16;
        const AddressRange range = read_address_range("192.0.2." + std::to_string(first) + "/28").range;
        EXPECT_EQ(one.adds_some_of(range), other.adds_some_of(range));
        EXPECT_EQ(one.added_addresses(range), other.added_addresses(range));
        EXPECT_EQ(one.set(range, answer), other.set(range, answer));
      } else {
        const OwnEntry made = entry();
        EXPECT_EQ(one.answer(made.view()), other.answer(made.view()));
        EXPECT_EQ(one.set(made.view(), answer), other.set(made.view(), answer));
      }
    };
    for (std::uint64_t i = random.pick(200); i > 0; --i) {
      start.set(entry().view(), static_cast<DeltaAnswer>(random.pick(3)));
    }
    start.set_sequence(7);
    std::string text = start.text();
    text.insert(text.find('\n') + 1, "# ticket\n");
    std::string without_count = text;
    const std::size_t count = without_count.find(" changes=");
    without_count.erase(count, without_count.find('\n') - count);
    auto left = DeltaText::read(text, "d", kKeys, id_of(1));
    auto parsed = DeltaText::read(without_count, "d", kKeys, id_of(1));
    ASSERT_TRUE(left && parsed);
    EXPECT_EQ(left->changed_text(), Delta::first_line(id_of(1), 7) + "\n# ticket\n") << "was left as it is";
    for (std::uint64_t i = random.pick(60); i > 0; --i) {
      change(*left, *parsed);
      EXPECT_EQ(left->added(), parsed->added());
      EXPECT_EQ(left->removed(), parsed->removed());
    }
    EXPECT_EQ(left->text(), parsed->text());
    EXPECT_TRUE(Delta::parse(left->text(), "d", kKeys, id_of(1)));
    EXPECT_EQ(left->drop_removals(), parsed->drop_removals());
    EXPECT_EQ(changes_of(*left), changes_of(*parsed));
  }
}

}  // namespace
}  // namespace bloomwall::filter
