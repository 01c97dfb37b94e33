// The outcome of a line that names several hosts: used where one of them is, and then each of the others counts as unusable
// with its reason (FileReport::skipped_names); else what was wrong with the first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"

namespace bloomwall::filter {

class LineSum {
 public:
  void add(const LineOutcome& outcome) {
    if (outcome.used()) {
      if (sum_.what != LineClass::taken) sum_ = outcome;
    } else if (!outcome.reason.empty()) {
      if (lost_.empty()) first_lost_ = outcome;
      lost_.push_back(outcome.reason);
    } else if (sum_.what == LineClass::blank) {
      sum_ = outcome;
    }
  }
  // What the line was, when all of it is known.
  LineOutcome close(EntryGate& gate) const {
    if (!sum_.used()) return lost_.empty() ? sum_ : first_lost_;
    for (const std::string_view reason : lost_) gate.skip_name(reason);
    return sum_;
  }

 private:
  LineOutcome sum_;
  LineOutcome first_lost_;
  std::vector<std::string_view> lost_;  // reasons; static storage
};

}  // namespace bloomwall::filter
