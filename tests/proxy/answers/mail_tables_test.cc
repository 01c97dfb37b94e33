// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/mail_tables.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <string>
#include <string_view>

#include "tests/proxy/answers/cuts.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

std::string text_of(const tl::expected<TableQuestion, std::string_view>& question) {
  if (!question) return "refused";
  return std::string(question->name) + "|" + question->key;
}

struct TableCase {
  std::string_view text, want;
};

TEST(MailTables, SocketmapQuestionIsANameABlankAndAKey) {
  for (const TableCase& row : {
           TableCase{"virtual postmaster@example.com", "virtual|postmaster@example.com"},  // of socketmap_table(5)
           TableCase{"bad a b", "bad|a b"},
           TableCase{"bad  a", "bad| a"},
           TableCase{"bad a\n", "bad|a\n"},
           TableCase{"bad", "refused"},
           TableCase{"bad ", "refused"},
           TableCase{" a", "refused"},
           TableCase{"", "refused"},
       }) {
    EXPECT_EQ(text_of(parse_socketmap(row.text)), row.want) << row.text;
  }
}

TEST(MailTables, TcpTableQuestionIsGetAndAKeyWithEscapes) {
  for (const TableCase& row : {
           TableCase{"get a@example.com", "|a@example.com"},
           TableCase{"get a%20b%25%0a", "|a b%\n"},
           TableCase{"get %c3%A9", "|\xc3\xa9"},
           TableCase{"get \xc3\xa9", "|\xc3\xa9"},
           TableCase{"get a%2", "refused"},
           TableCase{"get a%", "refused"},
           TableCase{"get a%2g", "refused"},
           TableCase{"get a b", "refused"},
           TableCase{"get  a", "refused"},
           TableCase{"get a\r", "refused"},
           TableCase{"get a\t", "refused"},
           TableCase{"get a\x7f", "refused"},
           TableCase{"get ", "refused"},
           TableCase{"get", "refused"},
           TableCase{"", "refused"},
           TableCase{"GET a", "refused"},
           TableCase{"put a b", "refused"},
       }) {
    EXPECT_EQ(text_of(parse_tcp_table(row.text)), row.want) << row.text;
  }
}

TEST(MailTables, WritesAnswersInTheWordsOfTheProtocols) {
  std::string out;
  append_socketmap_answer(out, TableResult::found, "REJECT listed");
  append_socketmap_answer(out, TableResult::not_found, "dropped");
  append_socketmap_answer(out, TableResult::later, "lost\nfilter");
  append_socketmap_answer(out, TableResult::refused, "no such map");
  EXPECT_EQ(out, "16:OK REJECT listed,9:NOTFOUND ,16:TEMP lost filter,16:PERM no such map,");
  out.clear();
  append_tcp_table_answer(out, TableResult::found, "REJECT 100%");
  append_tcp_table_answer(out, TableResult::not_found, "not listed");
  append_tcp_table_answer(out, TableResult::later, "a\nb");
  append_tcp_table_answer(out, TableResult::refused, "wrong");
  EXPECT_EQ(out, "200 REJECT%20100%25\n500 not%20listed\n400 a%20b\n400 wrong\n");
}

TEST(MailTables, TextsOfAnswersAreCut) {
  std::string out;
  append_socketmap_answer(out, TableResult::found, std::string(5000, 'x'));
  EXPECT_EQ(out, "1003:OK " + std::string(kMostTableText, 'x') + ",");
}

bool feed_lines(TableLineReader& reader, std::span<const char> bytes, std::string& out) {
  std::string_view text(bytes.data(), bytes.size());
  for (;;) {
    const TableLineReader::Step step = reader.feed(text);
    text.remove_prefix(step.consumed);
    if (step.event == TableLineReader::Event::need_more) return true;
    if (step.event == TableLineReader::Event::too_long) {
      out += "too long";
      return false;
    }
    out.append("[").append(reader.text()).append("]");
    reader.next();
  }
}

TEST(TableLineReader, LinesEndWithALineFeedAndHaveALimit) {
  std::mt19937 random(test::test_seed());
  for (const TableCase& row : {
           TableCase{"get a\nget b\n", "[get a][get b]"},
           TableCase{"\n\n", "[][]"},
           TableCase{"a\r\n", "[a\r]"},
           TableCase{"123456789\n", "[123456789]"},
           TableCase{"1234567890", "too long"},
           TableCase{"a\n1234567890\nb\n", "[a]too long"},
           TableCase{"abc", ""},
       }) {
    bool is_same = false;
    EXPECT_EQ(answers_test::in_any_pieces(
                  row.text, [] { return TableLineReader(10); }, feed_lines, random, is_same),
              row.want);
    EXPECT_TRUE(is_same) << row.text;
  }
}

}  // namespace
}  // namespace bloomwall::proxy
