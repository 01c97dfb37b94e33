// The lines of a record that goes on, until it is known what became of it: a quote, a parenthesis or a backslash that was a
// mistake must not swallow what stands behind it.
//   used up:   the record was whole; its lines but the last one are settled as boilerplate
//   given up:  the first line is settled as malformed, the others are read again as lines of their own
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/lists/entry_gate.h"

namespace bloomwall::filter {

class HeldLines {
 public:
  explicit HeldLines(std::size_t most_lines) : most_lines_(most_lines) {}
  bool empty() const { return lines_.empty(); }
  bool full() const { return lines_.size() >= most_lines_ || bytes_ >= kMaxLineBytes; }

  // The outcome of the line that the gate is at.
  LineOutcome hold(std::string_view text, const EntryGate& gate) {
    bytes_ += text.size();
    lines_.push_back({gate.line(), std::string(text)});
    return {LineClass::held};
  }
  void use_up(EntryGate& gate) {
    for (const Line& line : std::exchange(lines_, {})) gate.settle({LineClass::boilerplate}, line.number, line.text);
    bytes_ = 0;
  }
  // All of them are lost, for the same reason.
  void lose(EntryGate& gate, const LineOutcome& outcome) {
    for (const Line& line : std::exchange(lines_, {})) gate.settle(outcome, line.number, line.text);
    bytes_ = 0;
  }
  // `read`: (text, gate) -> LineOutcome of one line; it may hold lines again, fewer than there were.
  template <typename Read>
  void give_up(EntryGate& gate, const LineOutcome& first, Read read) {
    const auto lines = std::exchange(lines_, {});
    bytes_ = 0;
    if (lines.empty()) return;
    gate.settle(first, lines.front().number, lines.front().text);
    const auto [number, text] = gate.place();
    for (std::size_t i = 1; i < lines.size(); ++i) {
      gate.begin_line(lines[i].number, lines[i].text);
      gate.settle(read(lines[i].text, gate), lines[i].number, lines[i].text);
    }
    gate.begin_line(number, text);
  }

 private:
  struct Line {
    std::uint64_t number;
    std::string text;
  };
  std::size_t most_lines_;
  std::size_t bytes_ = 0;
  std::vector<Line> lines_;
};

}  // namespace bloomwall::filter
