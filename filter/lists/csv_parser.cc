// Feeds in CSV: the URL of each record is an entry as in a list of URLs; the other columns are not looked at. A column
// of names or addresses is read as in a list of names.
//   "3585006","2026-01-01 10:00:00","http://example.com/i","online"
// Separator and column are those of csv_layout.h. A header may come again, with another order.
// Malformed: records with more or fewer columns than the header and most records (empty ones at the end are no harm),
// and values that are neither a URL nor a host under a top-level domain: "None", "unknown", 0, dates, e-mail addresses.
// In a column that the user named any name with a dot is a host, whatever it ends in ("a.bazar").
// '#' at the start of a line is a comment. A quoted field may go on over line ends, for at most kMaxCsvRecordLines
// lines, where that makes a record of the right width; what stands inside is never read as records, but a line that by
// itself would be one is reported as malformed, since the quote may be a mistake. The record counts at its first line.
// Where it has another width, the opening quote was a mistake: its line is malformed and the others are read by
// themselves. A row of empty fields is blank; a first line "sep=;" is boilerplate.
// SPDX-License-Identifier: Apache-2.0

#include "filter/lists/csv_parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "filter/lists/csv_layout.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/refang.h"
#include "filter/lists/url_parser.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMaxCsvRecordLines = 16;
constexpr std::string_view kOpenQuote = "quote is not closed";
constexpr std::string_view kInsideQuote = "row inside a quoted field of several lines";

std::string_view without_line_ends(std::string_view text) {
  text = trim(text);
  while (text.starts_with('\n')) text = trim(text.substr(1));
  while (text.ends_with('\n')) text = trim(text.substr(0, text.size() - 1));
  return text;
}

class CsvParser final : public LineParser {
 public:
  explicit CsvParser(const ParsePlan& plan) : layout_(plan.csv), names_(make_domain_parser(plan)) {}

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    if (held_.empty()) return first_line(text, gate);
    if (held_.full()) return without_held(kOpenQuote, text, gate);
    joined_.append("\n").append(text);
    const Record record = split(joined_);
    if (record.state == Record::State::open) return held_.hold(text, gate);
    if (record.state == Record::State::damaged) return without_held(record.reason, text, gate);
    return several_lines(record, text, gate);
  }

  void finish(EntryGate& gate) override {
    while (!held_.empty()) give_up(kOpenQuote, gate);
  }

 private:
  struct Record {
    enum class State : std::uint8_t { open, damaged, whole };
    State state = State::whole;
    std::string_view reason = {};  // of `damaged`
    std::string_view value = {};   // of the column; may lie in field_
    bool is_empty = false;         // no field has anything in it
  };

  // A record that ends in this line. Each of its lines but the first is boilerplate, or looks like a record.
  LineOutcome several_lines(const Record& record, std::string_view text, EntryGate& gate) {
    const auto [number, line] = gate.place();
    const auto lines = held_.take();
    gate.begin_line(lines.front().number, lines.front().text);
    const LineOutcome outcome = record.is_empty ? LineOutcome{LineClass::blank} : value(record.value, gate);
    gate.settle(outcome, lines.front().number, lines.front().text);
    for (std::size_t i = 1; i < lines.size(); ++i) gate.settle(inside(lines[i].text), lines[i].number, lines[i].text);
    gate.begin_line(number, line);
    return inside(text);
  }

  LineOutcome inside(std::string_view text) {
    const Record record = split(csv_line(text, layout_.separator));
    const bool is_row = record.state == Record::State::whole && !record.is_empty;
    const bool is_entry = is_row && (layout_.columns > 1 || indicator_of(record.value) == Indicator::url);
    return is_entry ? malformed(kInsideQuote) : LineOutcome{LineClass::boilerplate};
  }

  LineOutcome first_line(std::string_view text, EntryGate& gate) {
    const std::string_view trimmed = trim(text);
    if (trimmed.empty()) return {LineClass::blank};
    text = csv_line(text, layout_.separator);
    if (trimmed.front() == '#') {
      text = trimmed;
      while (text.starts_with('#')) text.remove_prefix(1);
      learn(text, true);
      return {LineClass::comment};
    }
    if (gate.line() == 1 && separator_line(text)) return {LineClass::boilerplate};
    if (learn(text, false)) return {LineClass::boilerplate};
    const Record record = split(text);
    if (record.state == Record::State::damaged) return malformed(record.reason);
    if (record.is_empty) return {LineClass::blank};
    if (record.state == Record::State::whole) return value(record.value, gate);
    joined_ = text;
    return held_.hold(text, gate);
  }

  // A comment between the records is no header of another table.
  bool learn(std::string_view line, bool comment) {
    auto again = csv_header_again(line, layout_);
    if (!again || (comment && layout_.columns != 0 && again->columns != layout_.columns)) return false;
    layout_ = std::move(*again);
    return true;
  }

  Record split(std::string_view text) {
    CsvWalk walk(text, layout_.separator);
    Record record;
    std::size_t columns = 0;
    bool too_wide = false;
    bool is_empty = true;
    for (; walk.next(); ++columns) {
      is_empty = is_empty && trim(walk.raw()).empty();
      if (columns == layout_.column) record.value = without_line_ends(walk.text(field_));
      too_wide = too_wide || (columns >= layout_.columns && !trim(walk.raw()).empty());
    }
    if (walk.quote_open()) return {Record::State::open};
    if (walk.damaged()) return {Record::State::damaged, "text after a closing quote"};
    record.is_empty = is_empty;
    if (is_empty) return record;
    if (layout_.column == kNoColumn) return {Record::State::damaged, "no column with a URL"};
    if (too_wide || columns < layout_.columns) {
      return {Record::State::damaged, "other number of columns than the header or most records"};
    }
    return record;
  }

  LineOutcome value(std::string_view text, EntryGate& gate) {
    if (trim_all_blanks(text).empty()) return malformed("no host");
    return take_field(text, *names_, gate, layout_.by_number ? TopLevels::any : TopLevels::known);
  }

  void give_up(std::string_view reason, EntryGate& gate) {
    held_.give_up(gate, malformed(reason), [this](std::string_view text, EntryGate& g) { return line(text, g); });
  }
  LineOutcome without_held(std::string_view reason, std::string_view text, EntryGate& gate) {
    give_up(reason, gate);
    return line(text, gate);
  }

  CsvLayout layout_;
  std::unique_ptr<LineParser> names_;
  std::string field_;
  std::string joined_;
  HeldLines held_{kMaxCsvRecordLines};
};

}  // namespace

std::unique_ptr<LineParser> make_csv_parser(const ParsePlan& plan) { return std::make_unique<CsvParser>(plan); }

LineOutcome take_field(std::string_view text, LineParser& names, EntryGate& gate, TopLevels top_levels) {
  text = trim_all_blanks(text);
  if (const std::string_view error = error_in_field(text); !error.empty()) return malformed(error);
  std::string scratch;
  const std::string_view meant = may_be_defanged(text) || has_odd_scheme(text) ? refanged(text, scratch) : text;
  const bool defanged = meant.data() != text.data();
  text = meant;
  if (scheme_of(text).empty()) text = without_glued_comment(without_comment(text, kListMarks));
  const Indicator indicator = indicator_of(text, top_levels);
  const bool cosmetic = scheme_of(text).empty() && adblock_line(text) == AdblockLine::cosmetic;
  if (indicator == Indicator::none || indicator == Indicator::hash || cosmetic) {
    return malformed("neither a URL nor a host in the column");
  }
  const bool bare = indicator == Indicator::host && text.find_first_of("/?#") == std::string_view::npos;
  const LineOutcome outcome = bare ? names.line(text, gate) : take_url(text, UrlPlace::field, gate);
  if (defanged && outcome.used()) gate.warn(kWarnDefanged);
  return outcome;
}

bool is_empty_row(std::string_view line) {
  bool separated = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      ++i;
    } else if (kCsvSeparators.find(c) != std::string_view::npos) {
      separated = separated || c != '\t';
    } else if (!is_blank(c)) {
      return false;
    }
  }
  return separated;
}

std::optional<char> separator_line(std::string_view line) {
  if (line.size() > 1 && line.starts_with('"') && line.ends_with('"')) line = line.substr(1, line.size() - 2);
  if (!starts_ignoring_case(line, "sep=") || line.size() != 5) return std::nullopt;
  return kCsvSeparators.find(line[4]) == std::string_view::npos ? std::nullopt : std::optional(line[4]);
}

bool CsvWalk::next() {
  if (!more_ || quote_open_ || damaged_) return false;
  doubled_ = false;
  std::size_t at = 0;
  while (at < rest_.size() && is_blank(rest_[at]) && rest_[at] != separator_) ++at;
  if (at < rest_.size() && rest_[at] == '"') {
    rest_.remove_prefix(at + 1);
    return quoted();
  }
  more_ = rest_.find(separator_) != std::string_view::npos;
  field_ = next_part(rest_, separator_);
  return true;
}

// `rest_` begins after the opening quote.
bool CsvWalk::quoted() {
  std::size_t end = rest_.find('"');
  while (end != std::string_view::npos && end + 1 < rest_.size() && rest_[end + 1] == '"') {
    doubled_ = true;
    end = rest_.find('"', end + 2);
  }
  if (end == std::string_view::npos) {
    quote_open_ = true;
    return false;
  }
  field_ = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  more_ = rest_.find(separator_) != std::string_view::npos;
  damaged_ = !trim(next_part(rest_, separator_)).empty();
  return !damaged_;
}

std::string_view CsvWalk::text(std::string& scratch) const {
  if (!doubled_) return field_;
  scratch.clear();
  for (std::size_t i = 0; i < field_.size(); ++i) {
    scratch.push_back(field_[i]);
    if (field_[i] == '"') ++i;
  }
  return scratch;
}

}  // namespace bloomwall::filter
