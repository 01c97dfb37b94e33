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

#include "filter/lists/csv_layout.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_reader.h"

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

class EntryGate;  // entry_gate.h

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
  ReadOptions options;
  bool to_allow = false;                            // a white category: what would be an entry becomes an allow rule
  std::shared_ptr<const BadFilterRules> cancelled;  // adblock only; may be null
  CsvLayout csv;  // csv only: told from the sample; a header that comes again overrules it
};

std::unique_ptr<LineParser> make_line_parser(const ParsePlan& plan);

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

}  // namespace bloomwall::filter
