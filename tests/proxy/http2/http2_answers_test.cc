// Answers of origins that are not as they should be: what is taken all the same, and whose fault the rest is.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/proxy/http2/http2_pair.h"

namespace bloomwall::proxy::http2_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// As in HTTP/1; what a browser could read in two ways, or not at all, ends the stream, and the origin is at fault.
TEST(Http2Answers, ReadsControlOctetsOfAnAnswerAsBlanks) {
  struct Row {
    std::string_view rule;
    Http2Field field;
    std::string seen;  // empty: the stream is reset
  };
  const std::string_view nul("a\0b", 3);
  for (const auto& [rule, field, seen] : {
           Row{"a control octet",
               {"set-cookie",
                "a\x01"
                "b"},
               "set-cookie=a b;"},
           Row{"DEL at the end", {"x", "a\x7f"}, "x=a;"},
           Row{"alone", {"x", "\x02"}, "x=;"},
           Row{"NUL", {"x", nul}, ""},
           Row{"CR", {"x", "a\rb"}, ""},
           Row{"LF", {"x", "a\nb"}, ""},
           Row{"in a name", {"x\x01y", "a"}, ""},
           Row{"a field of the connection", {"connection", "close"}, ""},
       }) {
    SCOPED_TRACE(rule);
    Pair pair;
    RecordedStream& asked = pair.client.ask("/a");
    pair.settle();
    const std::vector<Http2Field> list{{":status", "200"}, field};
    pair.server.connection.submit_answer(1, list, false);
    pair.settle();
    EXPECT_EQ(asked.was_at_fault, seen.empty());
    if (seen.empty()) {
      EXPECT_THAT(asked.heads, IsEmpty());
      EXPECT_EQ(asked.code, Http2Code::protocol_error);
    } else {
      EXPECT_THAT(asked.heads, ElementsAre(":status=200;" + seen));
    }
  }
}

TEST(Http2Answers, AResetOfThePeersIsNoFaultOfIts) {
  Pair pair;
  RecordedStream& asked = pair.client.ask("/a");
  pair.settle();
  pair.server.connection.reset(1, Http2Code::protocol_error);
  pair.settle();
  EXPECT_TRUE(asked.closed);
  EXPECT_FALSE(asked.was_at_fault);
}

// Whose fault an end was is said of each request that was under way.
TEST(Http2Answers, ARuleOfTheConnectionIsBrokenForEachOfItsStreams) {
  const struct {
    std::string_view rule;
    std::string frame;
    bool is_fault;
  } rows[] = {{"DATA of no stream", raw_frame(0, 0, 0, "x"), true},
              {"SETTINGS of a wrong size", raw_frame(4, 0, 0, "x"), true},
              {"a window that overflows", raw_frame(8, 0, 0, "\x7f\xff\xff\xff"), true},
              {"fields that cannot be decoded", raw_frame(1, 4, 1, "\xff\xff\xff\xff\xff\xff"), true},
              {"an end that is announced", raw_frame(7, 0, 0, std::string("\0\0\0\1\0\0\0\0", 8)), false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.rule);
    Pair pair;
    RecordedStream& asked = pair.client.ask("/a");
    pair.settle();
    pair.client.connection.feed(row.frame, pair.now);
    pair.client.written();
    pair.client.connection.close_streams();
    EXPECT_TRUE(asked.closed);
    EXPECT_EQ(asked.was_at_fault, row.is_fault);
  }
}

}  // namespace
}  // namespace bloomwall::proxy::http2_test
