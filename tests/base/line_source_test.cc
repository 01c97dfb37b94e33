// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace bloomwall::filter {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::ostringstream answers;
  std::vector<std::string> out;
  for (LineSource lines(in, answers); lines.next();) {
    out.push_back(std::string(lines.line()) + (lines.too_long() ? "+" : ""));
  }
  return out;
}
using Lines = std::vector<std::string>;

TEST(LineSource, CutsLinesAtLfAndCrLf) {
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
  EXPECT_EQ(lines_of("a\nb\r\n\nc"), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(lines_of("a\rb\r\r\n"), (Lines{"a\rb\r"})) << "one CR belongs to the line end";
}

TEST(LineSource, BoundsALine) {
  const std::string most(kMaxQueryLine, 'x');
  EXPECT_EQ(lines_of(most + "\nnext\n"), (Lines{most, "next"}));
  EXPECT_EQ(lines_of(most + "\r\nnext\n"), (Lines{most, "next"}));
  EXPECT_EQ(lines_of(most + "y\nnext\n"), (Lines{most + "+", "next"}));
  EXPECT_EQ(lines_of(most + std::string(1'000'000, 'y') + "\nnext"), (Lines{most + "+", "next"}));
}

// Counts how often it is told to send what it has.
class FlushCounter : public std::stringbuf {
 public:
  int flushes = 0;
  int sync() override { return ++flushes, 0; }
};

TEST(LineSource, SendsAnswersBeforeItWaits) {
  std::istringstream in("a\nb\nc\n");
  FlushCounter buffer;
  std::ostream answers(&buffer);
  LineSource lines(in, answers);
  ASSERT_TRUE(lines.next() && lines.next() && lines.next());
  EXPECT_EQ(buffer.flushes, 0) << "more to read was there";
  EXPECT_FALSE(lines.next());
  EXPECT_EQ(buffer.flushes, 1);
}

}  // namespace
}  // namespace bloomwall::filter
