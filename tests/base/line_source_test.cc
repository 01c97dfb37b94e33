// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <streambuf>
#include <utility>
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

// A stream that gives at most so many octets at a time, as a pipe does.
class Pieces : public std::streambuf {
 public:
  Pieces(std::string text, std::size_t most) : text_(std::move(text)), most_(most) {}

 protected:
  int_type underflow() override {
    const std::size_t size = std::min(most_, text_.size() - given_);
    if (size == 0) return traits_type::eof();
    setg(&text_[given_], &text_[given_], &text_[given_] + size);
    given_ += size;
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::string text_;
  const std::size_t most_;
  std::size_t given_ = 0;
};

TEST(LineSource, LinesAreTheSameHoweverTheyArrive) {
  Lines expected;
  std::string text;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{16'382}, std::size_t{16'383},
                                 std::size_t{16'384}, std::size_t{16'385}, std::size_t{3}, kMaxQueryLine}) {
    expected.push_back(std::string(size, static_cast<char>('a' + expected.size())));
    text += expected.back() + (expected.size() % 2 == 0 ? "\n" : "\r\n");
  }
  for (const std::size_t most :
       {std::size_t{1}, std::size_t{2}, std::size_t{16'384}, std::size_t{16'385}, text.size()}) {
    Pieces pieces(text, most);
    std::istream in(&pieces);
    std::ostringstream answers;
    Lines found;
    for (LineSource lines(in, answers); lines.next();) found.emplace_back(lines.line());
    EXPECT_EQ(found, expected) << most << " octets at a time";
  }
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
