// Feeds in CSV: the URL of each record is an entry as in a list of URLs; the other columns are not looked at.
//   "3585006","2026-01-01 10:00:00","http://example.com/i","online"
// Which column: the one a header line names "url", in whatever case; the header may stand in a comment, and may come again
// with another order. Without a header the column that most often holds a URL, the first of equals.
// '#' at the start of a line is a comment. A quoted field may go on over line ends, for at most kMaxRecordLines lines:
// beyond that the opening quote was a mistake, and the lines it swallowed are lost and reported.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <string_view>

#include "filter/lists/csv_layout.h"
#include "filter/lists/csv_record.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"
#include "filter/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMaxRecordLines = 16;

class CsvParser final : public LineParser {
 public:
  explicit CsvParser(const ParsePlan& plan) : column_(plan.csv_url_column) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    if (open_lines_ > 0) return continued(text, gate);
    text = trim(text);
    if (text.empty()) return {LineClass::blank};
    if (text.front() == '#') {
      while (text.starts_with('#')) text.remove_prefix(1);
      learn(text);
      return {LineClass::comment};
    }
    return record(text, gate);
  }

  void finish(EntryGate& gate) override {
    if (open_lines_ > 0) gate.warn(kWarnUnfinished);
  }

 private:
  bool learn(std::string_view header) {
    const std::size_t column = csv_header_column(header);
    if (column == ParsePlan::kNoColumn) return false;
    column_ = column;
    return true;
  }

  LineOutcome record(std::string_view text, EntryGate& gate) {
    if (learn(text)) return {LineClass::boilerplate};
    if (column_ == ParsePlan::kNoColumn) return malformed("no column with a URL");
    CsvWalk walk(text);
    std::size_t column = 0;
    std::string_view url;
    bool found = false;
    for (; walk.next(); ++column) {
      if (column != column_) continue;
      url = trim(walk.text(field_));
      found = true;
    }
    if (walk.quote_open()) return hold(text);
    if (walk.damaged()) return malformed("text after a closing quote");
    if (!found) return malformed("fewer columns than needed");
    return gate.url(url);
  }

  // The record goes on in the next line.
  LineOutcome hold(std::string_view text) {
    if (text.data() != held_.data()) held_.assign(text);
    ++open_lines_;
    if (open_lines_ < kMaxRecordLines && held_.size() < kMaxLineBytes) return {LineClass::boilerplate};
    open_lines_ = 0;
    held_.clear();
    return malformed("quote is not closed");
  }

  LineOutcome continued(std::string_view text, EntryGate& gate) {
    held_.append("\n").append(text);
    const std::size_t before = open_lines_;
    const LineOutcome outcome = record(held_, gate);
    if (open_lines_ == before) open_lines_ = 0;  // complete, for better or worse
    return outcome;
  }

  std::size_t column_;
  std::string field_;
  std::string held_;
  std::size_t open_lines_ = 0;
};

}  // namespace

std::unique_ptr<LineParser> make_csv_parser(const ParsePlan& plan) { return std::make_unique<CsvParser>(plan); }

}  // namespace bloomwall::filter
