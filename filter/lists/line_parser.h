// The interface of the parsers, one a format: takes a line of a list, gives its outcome.
// Rules for all of them: a parser passes entries to the EntryGate and never to the sink; it gives exactly one outcome
// per line; it keeps no state between lines unless is_order_free(format) is false, and then a bounded amount. A line
// whose record continues is `held`, and settled with EntryGate::settle when the outcome of the record is known, at the
// latest in finish(): every line of a list is counted.
// Ranges of addresses are entries of their own: EntryGate::host and url recognise them (address_range.h) and hand them
// to ListSink::range where the sink takes ranges; else they are unsupported. In a list of networks an address is one,
// too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "filter/lists/csv_layout.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_reader.h"
#include "filter/lists/list_report.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

enum class LineClass : std::uint8_t {
  blank,
  comment,
  boilerplate,
  held,
  taken,
  allowed,
  cancelled,
  unsupported,
  malformed
};

struct LineOutcome {
  LineClass what = LineClass::blank;
  std::string_view reason = {};  // of unsupported and malformed; static storage
  bool used() const { return what == LineClass::taken || what == LineClass::allowed; }
};
constexpr LineOutcome unsupported(std::string_view reason) { return {LineClass::unsupported, reason}; }
constexpr LineOutcome malformed(std::string_view reason) { return {LineClass::malformed, reason}; }

// Adds the outcome of a line to the counts of a report, but not to the number of its lines. A held line adds nothing
// yet.
void count_outcome(const LineOutcome& outcome, std::uint64_t line, std::string_view text, FileReport& report);

class EntryGate;

class LineParser {
 public:
  virtual ~LineParser() = default;
  // `text` without its end of line, at most kMaxLineBytes, no NUL.
  virtual LineOutcome line(std::string_view text, EntryGate& gate) = 0;
  // After the last line: passes on what was held back.
  virtual void finish(EntryGate& /*gate*/) {}
};

// Adblock rules that a $badfilter rule of the same file takes back, as they are written without that modifier. A
// $badfilter rule that is not among them (there were too many, or a pipe could not be held back far enough) is reported
// as unsupported.
struct BadFilterRules {
  std::unordered_set<std::string> rules;
  std::size_t bytes = 0;
};

// What is known about a file before its first line is parsed; shared by all its parsers.
struct ParsePlan {
  Format format = Format::domains;
  bool detected = false;  // told from the first lines: what comes later may be of another format (tail_parser.cc)
  ReadOptions options;
  bool to_allow = false;                            // a white category: what would be an entry becomes an allow rule
  std::shared_ptr<const BadFilterRules> cancelled;  // adblock only; may be null
  CsvLayout csv;                // csv only: told from the sample; a header that comes again overrules it
  std::string json_field = {};  // json_lines only
  // Told from the sample by learn_lines(): separators (of kCsvSeparators) that most lines hold, and whether the lines
  // are those of a diff.
  std::string borders = {};
  bool is_diff = false;
};

// Sets what no line tells by itself: `borders` and `is_diff`.
void learn_lines(std::string_view sample, ParsePlan& plan);

std::unique_ptr<LineParser> make_line_parser(const ParsePlan& plan);
// `own`, the parser of the plan's format, which also reads lines of other formats where that was detected
// (tail_parser.cc).
std::unique_ptr<LineParser> with_tail(const ParsePlan& plan, std::unique_ptr<LineParser> own);

// One function per format; the rules of each stand at the top of the file that holds it.
std::unique_ptr<LineParser> make_domain_parser(const ParsePlan& plan);  // domains, wildcard, squidguard_domains
std::unique_ptr<LineParser> make_hosts_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_adblock_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_dnsmasq_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_unbound_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_rpz_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_url_parser(const ParsePlan& plan);  // urls, squidguard_urls, squidguard_expressions
std::unique_ptr<LineParser> make_csv_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_privoxy_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_mixed_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_network_parser(const ParsePlan& plan);
std::unique_ptr<LineParser> make_json_lines_parser(const ParsePlan& plan);

// The outcome of a field of a table, neither empty nor with blanks around it: a URL, or what a list of names (`names`)
// may hold; what a name in it may end in.
LineOutcome take_field(std::string_view text, LineParser& names, EntryGate& gate,
                       TopLevels top_levels = TopLevels::known);

// Makes entries of the hosts and URLs that a parser finds, applies the rules that all formats share, counts, and passes
// the entries to the sink. No parser calls the sink itself. The rules:
//   what stands around a host and is no part of it goes (host_text.h): blanks of Unicode, commas and semicolons behind
//   it
//   an IP address is X, whatever kind was asked for, but for lists of networks
//   a range of addresses (address_range.h), of one address too ("192.0.2.1/32"), is handed over as such where the sink
//   takes ranges; elsewhere one of several is unsupported, and one of one address is that address. So is one wider than
//   kWidestIpv4 or kWidestIpv6 unless --allow-wide-ranges. One with bits set beyond its prefix is the network around
//   them, with a warning
//   a host that no request can have (its octets, its length) is malformed wherever it stands, and so is text with a
//   blank or a byte order mark in it, and a user before '@' where no scheme says that it is a URL ("me@example.com")
//   a number is an address in four decimal parts without leading zeros, and any spelling of one behind a scheme alone:
//   "85285", "10.1" and "010.0.0.1" are versions, dates, counts as often as hosts (entry.h)
//   "*" at the end of a path, after '/', is the directory; elsewhere in a path or a query it is an octet like others
//   behind a scheme and in a field of a table, and unsupported without a scheme, where it is more often a pattern
//   a bare top-level domain is skipped unless --allow-tld; other single labels ("intranet") are taken
//   a public suffix is taken with a warning; the URL of one ("http://github.io/") is X instead of S
//   a port goes, of a host as of a URL, with a warning where it is another than 80 or 443
//   "http://host/" is S, and so, with a warning, is what has a fragment, a port or dots and slashes behind the host
//   that say no more than it; a range of the local network or of loopback is taken with a warning
//   in a white category, and for allow rules unless they are to be entries, the entry goes to the allow sink as text
// Not thread-safe; one per BlockParser.

enum class Side : std::uint8_t { block, allow };

class EntryGate {
 public:
  explicit EntryGate(const ParsePlan& plan)
      : allow_tld_(plan.options.allow_tld),
        allow_wide_ranges_(plan.options.allow_wide_ranges),
        starred_(plan.options.strict_wildcard ? Kind::subdomains : Kind::suffix),
        to_allow_(plan.to_allow),
        takes_exceptions_(plan.options.exceptions_as_entries),
        path_info_(plan.options.path_info),
        index_files_(plan.options.index_files) {}
  // Where entries and counts of the coming lines go.
  void bind(ListSink& sink, FileReport& report) {
    sink_ = &sink;
    report_ = &report;
  }
  void begin_line(std::uint64_t number, std::string_view text) {
    line_ = number;
    text_ = text;
  }
  std::uint64_t line() const { return line_; }
  std::pair<std::uint64_t, std::string_view> place() const { return {line_, text_}; }  // what begin_line() was given

  // A name as lists of names write it: "*.example.com" (S, with --strict-wildcard W), ".example.com" (S), and all else
  // as host() does.
  LineOutcome name(std::string_view text, Kind bare, Side side = Side::block);
  // A host or an address, IPv6 with or without brackets, or a range of addresses.
  LineOutcome host(std::string_view text, Kind kind, Side side = Side::block);
  // A range or an address, which is a range of one here.
  LineOutcome network(std::string_view text);
  // A URL as a list of URLs means it.
  LineOutcome url(std::string_view text, Side side = Side::block);
  LineOutcome bare_url(std::string_view text);  // likewise, of a line that is_bare_url() (url_parser.h)
  // A URL in a field of its own, as it was seen on the wire: a blank begins nothing else, and '*' is an octet like
  // others but at the end.
  LineOutcome url_field(std::string_view text) { return any_url(text, false, Side::block, true); }
  // A URL as the beginning of others, at the boundary of a path segment: U and D, or D alone where it ends in '/'.
  LineOutcome url_prefix(std::string_view text, Side side = Side::block);

  // For parsers that must see further lines before they know the kind: the checks of host() without passing anything
  // on. `entry` is canonical and valid until the next call.
  struct CheckedHost {
    LineOutcome outcome;
    Entry entry;
  };
  CheckedHost check_host(std::string_view text, Kind kind);
  // The outcome of a line that gave an entry on that side.
  LineOutcome used(Side side) const;
  // An entry that was checked, from line `line`.
  void hand_over(const Entry& entry, Side side, std::uint64_t line);

  // Whether entries of the coming lines beat the exceptions of their list.
  void set_important(bool is_important) { is_important_ = is_important; }
  void warn(std::string_view reason) { report_->warnings.add(reason, line_, text_); }
  // Counts a name that gave nothing, in a line of which other names were taken.
  void skip_name(std::string_view reason) { report_->skipped_names.add(reason, line_, text_); }
  // The list states how many entries it has.
  void states(std::uint64_t count) { report_->note_stated(count, line_, text_); }
  // Counts a line that is of another format than the list.
  void read_as_other(std::string_view format) { report_->other_formats.add(format, line_, text_); }
  // Counts a line that was held, now that its outcome is known.
  void settle(const LineOutcome& outcome, std::uint64_t line, std::string_view text) {
    count_outcome(outcome, line, text, *report_);
  }

 private:
  bool is_allowed(Side side) const { return to_allow_ || (side == Side::allow && !takes_exceptions_); }
  LineOutcome any_url(std::string_view text, bool as_prefix, Side side, bool field);
  LineOutcome parsed_url(std::string_view text, bool as_prefix, Side side);
  LineOutcome range(const RangeReading& reading, Side side);
  void warn_of_whole_host(std::string_view text);
  LineOutcome hand_over_range(const AddressRange& range, Side side);
  LineOutcome each(const ParsedEntry& parsed, bool as_prefix, Side side);
  void hand_over_children(const Entry& entry, Side side);
  void hand_over_aliases(const Entry& entry, Side side);

  EntryParser parser_;
  bool allow_tld_;
  bool allow_wide_ranges_;
  Kind starred_;
  bool to_allow_;
  bool takes_exceptions_;
  bool path_info_;
  bool index_files_;
  bool is_important_ = false;
  ListSink* sink_ = nullptr;
  FileReport* report_ = nullptr;
  std::uint64_t line_ = 0;
  std::string_view text_;
  std::string scratch_;
};

// The lines of a record that spans several lines, until its outcome is known: a quote, a parenthesis or a backslash
// that is a mistake must not swallow the lines behind it.
//   used up:   the record was whole; its lines but the last one are settled as boilerplate
//   given up:  the first line is settled as malformed, the others are read again as lines of their own
class HeldLines {
 public:
  struct Line {
    std::uint64_t number;
    std::string text;
  };
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
  // For those that settle the lines themselves.
  std::vector<Line> take() {
    bytes_ = 0;
    return std::exchange(lines_, {});
  }
  // Settles all of them with the same outcome.
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
  std::size_t most_lines_;
  std::size_t bytes_ = 0;
  std::vector<Line> lines_;
};

// The outcome of a line that names several hosts: used where one of them is, and then each of the others counts as
// unusable with its reason (FileReport::skipped_names); else what was wrong with the first.
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
  // The outcome of the line, once all of its names were added.
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
