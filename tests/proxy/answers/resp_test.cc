// SPDX-License-Identifier: Apache-2.0
#include "proxy/answers/resp.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "tests/proxy/answers/cuts.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

bool feed_commands(RespReader& reader, std::span<const char> bytes, std::string& out) {
  for (;;) {
    const RespReader::Step step = reader.feed(bytes);
    bytes = bytes.subspan(step.consumed);
    if (step.event == RespReader::Event::need_more) return true;
    if (step.event == RespReader::Event::error) {
      out += reader.error();
      return false;
    }
    out += '(';
    for (std::size_t place = 0; place < reader.arguments(); ++place) {
      out.append("[").append(reader.argument(place)).append("]");
    }
    out += ')';
    reader.next();
  }
}

constexpr std::string_view kNumber = "Protocol error: a number is decimal digits and CRLF";
constexpr std::string_view kZeros = "Protocol error: a number has no leading zeros";
constexpr std::string_view kInline = "Protocol error: expected '*'; inline commands are not taken";
constexpr std::string_view kString = "Protocol error: an argument does not end with CRLF";

struct RespCase {
  std::string_view octets, want;
};

TEST(RespReader, ReadsCommandsAndRefusesWhatHasTwoReadings) {
  std::mt19937 random(test::test_seed());
  for (const RespCase& row : {
           RespCase{"*2\r\n$4\r\nLLEN\r\n$6\r\nmylist\r\n", "([LLEN][mylist])"},  // of the specification
           RespCase{"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n", "([PING])([QUIT])"},
           RespCase{"*2\r\n$0\r\n\r\n$2\r\n\r\n\r\n", "([][\r\n])"},
           RespCase{"*1\r\n$3\r\na$b\r", ""},
           RespCase{"PING\r\n", kInline},
           RespCase{"GET / HTTP/1.1\r\n", kInline},
           RespCase{"\r\n", kInline},
           RespCase{"$4\r\nPING\r\n", kInline},
           RespCase{"*0\r\n", "Protocol error: a command has at least one argument"},
           RespCase{"*-1\r\n", kNumber},
           RespCase{"*+1\r\n", kNumber},
           RespCase{"* 1\r\n", kNumber},
           RespCase{"*\r\n", kNumber},
           RespCase{"*1\n", kNumber},
           RespCase{"*1\rx", kNumber},
           RespCase{"*01\r\n", kZeros},
           RespCase{"*4099\r\n", "Protocol error: too many arguments"},
           RespCase{"*99999999999999999999\r\n", "Protocol error: too many arguments"},
           RespCase{"*1\r\n:4\r\n", "Protocol error: expected '$'"},
           RespCase{"*1\r\n$-1\r\n", kNumber},
           RespCase{"*1\r\n$00\r\n", kZeros},
           RespCase{"*1\r\n$65537\r\n", "Protocol error: an argument is too long"},
           RespCase{"*1\r\n$1\r\nab\r\n", kString},
           RespCase{"*1\r\n$1\r\na\n", kString},
           RespCase{"*1\r\n$1\r\na\rx", kString},
           RespCase{"*1\r\n$2\r\na\r\n*1", kString},
       }) {
    bool is_same = false;
    EXPECT_EQ(
        answers_test::in_any_pieces(row.octets, [] { return RespReader(); }, feed_commands, random, is_same), row.want);
    EXPECT_TRUE(is_same) << row.octets;
  }
}

std::string command_of(std::initializer_list<std::string_view> arguments) {
  std::string out;
  append_resp_array(out, arguments.size());
  for (const std::string_view argument : arguments) append_resp_bulk(out, argument);
  return out;
}

TEST(RespReader, RefusesACommandThatIsTooLongAsAWhole) {
  RespReader reader;
  const std::string most(kMostArgument, 'x');
  const std::string octets = command_of({most, most, most, most, "y"});
  EXPECT_EQ(reader.feed(octets).event, RespReader::Event::error);
  EXPECT_EQ(reader.error(), "Protocol error: the command is too long");
  RespReader other;
  EXPECT_EQ(other.feed(command_of({most, most, most, most})).event, RespReader::Event::command);
  other.next();
  EXPECT_LT(other.memory(), 4096U) << "an idle connection keeps no long command";
}

TEST(RespReader, ReadsRandomCommandsHoweverTheyAreCut) {
  std::mt19937 random(test::test_seed());
  for (int round = 0; round < 200; ++round) {
    std::string octets, want;
    for (unsigned count = 1 + static_cast<unsigned>(random() % 3); count > 0; --count) {
      const std::size_t arguments = 1 + random() % 5;
      append_resp_array(octets, arguments);
      want += '(';
      for (std::size_t place = 0; place < arguments; ++place) {
        std::string argument(random() % 30, '\0');
        for (char& c : argument) c = static_cast<char>(random());
        append_resp_bulk(octets, argument);
        want.append("[").append(argument).append("]");
      }
      want += ')';
    }
    bool is_same = false;
    EXPECT_EQ(answers_test::in_any_pieces(octets, [] { return RespReader(); }, feed_commands, random, is_same), want);
    EXPECT_TRUE(is_same);
  }
}

TEST(RespReplies, AreThoseOfBothVersions) {
  std::string out;
  append_resp_simple(out, "PONG");
  append_resp_error(out, "ERR un\r\nknown \xff");
  append_resp_integer(out, 12);
  append_resp_bulk(out, "a\r\n");
  EXPECT_EQ(out, "+PONG\r\n-ERR un  known  \r\n:12\r\n$3\r\na\r\n\r\n");
  for (const unsigned version : {2U, 3U}) {
    std::string replies;
    append_resp_map(replies, version, 2);
    append_resp_boolean(replies, version, true);
    append_resp_boolean(replies, version, false);
    EXPECT_EQ(replies, version == 2 ? "*4\r\n:1\r\n:0\r\n" : "%2\r\n#t\r\n#f\r\n");
  }
}

}  // namespace
}  // namespace bloomwall::proxy
