// Feeds in CSV: the URL of each record is an entry as in a list of URLs; the other columns are not looked at.
//   "3585006","2026-01-01 10:00:00","http://example.com/i","online"
// Columns are separated by ',', ';', '|' or TAB, which the first lines tell. Which column: the one a header line names "url",
// in whatever case; the header may stand in a comment, and may come again with another order. Without a header the column
// that most often holds a URL, the first of equals.
// '#' at the start of a line is a comment. A quoted field may go on over line ends, for at most kMaxRecordLines lines. An
// opening quote that is never closed, or that would swallow a line which is a record by itself, was a mistake: its line is
// malformed and the others are read by themselves.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <string_view>

#include "filter/lists/csv_layout.h"
#include "filter/lists/csv_record.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/held_lines.h"
#include "filter/lists/line_parser.h"
#include "filter/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMaxRecordLines = 16;
constexpr std::string_view kOpenQuote = "quote is not closed";

class CsvParser final : public LineParser {
 public:
  explicit CsvParser(const ParsePlan& plan) : separator_(plan.csv.separator), column_(plan.csv.url_column) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    if (held_.empty()) return first_line(text, gate);
    if (held_.full() || is_record(text)) return without_held(kOpenQuote, text, gate);
    const std::string whole = joined_ + "\n" + std::string(text);
    const LineOutcome outcome = record(whole, gate);
    if (outcome.what == LineClass::held) {
      joined_ = whole;
      return held_.hold(text, gate);
    }
    if (!outcome.used()) return without_held(outcome.reason, text, gate);
    held_.use_up(gate);
    return outcome;
  }

  void finish(EntryGate& gate) override {
    while (!held_.empty()) give_up(kOpenQuote, gate);
  }

 private:
  LineOutcome first_line(std::string_view text, EntryGate& gate) {
    const std::string_view trimmed = trim(text);
    if (trimmed.empty()) return {LineClass::blank};
    if (separator_ != '\t') text = trimmed;
    if (trimmed.front() == '#') {
      text = trimmed;
      while (text.starts_with('#')) text.remove_prefix(1);
      learn(text);
      return {LineClass::comment};
    }
    if (learn(text)) return {LineClass::boilerplate};
    const LineOutcome outcome = record(text, gate);
    seen_record_ = true;
    if (outcome.what != LineClass::held) return outcome;
    joined_ = text;
    return held_.hold(text, gate);
  }

  bool learn(std::string_view header) {
    const std::size_t column = csv_header_column(header, separator_, !seen_record_ && !seen_header_);
    if (column == kNoColumn) return false;
    seen_header_ = true;
    column_ = column;
    return true;
  }

  // `held` where the record goes on in the next line.
  LineOutcome record(std::string_view text, EntryGate& gate) {
    if (column_ == kNoColumn) return malformed("no column with a URL");
    CsvWalk walk(text, separator_);
    std::size_t column = 0;
    std::string_view url;
    bool found = false;
    for (; walk.next(); ++column) {
      if (column != column_) continue;
      url = trim(walk.text(field_));
      found = true;
    }
    if (walk.quote_open()) return {LineClass::held};
    if (walk.damaged()) return malformed("text after a closing quote");
    if (!found) return malformed("fewer columns than needed");
    columns_ = column;
    return gate.url_field(url);
  }

  // Whether a line is whole by itself and like the records before it.
  bool is_record(std::string_view text) const {
    const std::size_t columns = csv_columns(text, separator_);
    if (columns < 2 || (columns_ != 0 && columns != columns_)) return false;
    CsvWalk walk(text, separator_);
    for (std::size_t column = 0; walk.next(); ++column) {
      if (column == column_) return !scheme_of(trim(walk.raw())).empty();
    }
    return false;
  }

  void give_up(std::string_view reason, EntryGate& gate) {
    held_.give_up(gate, malformed(reason), [this](std::string_view text, EntryGate& g) { return line(text, g); });
  }
  LineOutcome without_held(std::string_view reason, std::string_view text, EntryGate& gate) {
    give_up(reason, gate);
    return line(text, gate);
  }

  char separator_;
  std::size_t column_;
  std::size_t columns_ = 0;  // of the last whole record
  bool seen_header_ = false;
  bool seen_record_ = false;
  std::string field_;
  std::string joined_;
  HeldLines held_{kMaxRecordLines};
};

}  // namespace

std::unique_ptr<LineParser> make_csv_parser(const ParsePlan& plan) { return std::make_unique<CsvParser>(plan); }

}  // namespace bloomwall::filter
