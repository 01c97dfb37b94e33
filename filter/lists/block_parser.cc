// What becomes of each line of a block: BlockParser of list_reader.h.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "filter/lists/adblock_rule.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/list_reader.h"
#include "filter/lists/refang.h"
#include "filter/lists/stated_count.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {

void count_outcome(const LineOutcome& outcome, std::uint64_t line, std::string_view text, FileReport& report) {
  switch (outcome.what) {
    case LineClass::blank:
      ++report.blank;
      return;
    case LineClass::comment:
      ++report.comments;
      return;
    case LineClass::boilerplate:
      ++report.boilerplate;
      return;
    case LineClass::held:
      return;
    case LineClass::taken:
      ++report.taken;
      return;
    case LineClass::allowed:
      ++report.allowed;
      return;
    case LineClass::cancelled:
      ++report.cancelled;
      return;
    case LineClass::unsupported:
      ++report.unusable;
      report.unsupported.add(outcome.reason, line, text);
      return;
    case LineClass::malformed:
      ++report.unusable;
      report.malformed.add(outcome.reason, line, text);
      return;
  }
}

namespace {

bool has_nul(std::string_view text) { return !text.empty() && std::memchr(text.data(), '\0', text.size()) != nullptr; }

// A CR that ends no line: a file of another age, whose lines would be read as one, or a stray octet.
bool has_lone_return(std::string_view line) { return trim(line).find('\r') != std::string_view::npos; }

// Formats in which a line that begins with '!' stands for itself: it is a comment, or an order to the program that
// reads adblock lists.
bool may_hold_directives(Format format) {
  return format != Format::csv && format != Format::privoxy && format != Format::rpz &&
         format != Format::squidguard_expressions && format != Format::json_lines;
}

// Formats in which a bracket in the host of a line can mean nothing else. Fields of tables are looked at by their
// parser.
bool may_be_refanged(Format format) {
  switch (format) {
    case Format::auto_detect:
    case Format::domains:
    case Format::wildcard:
    case Format::urls:
    case Format::mixed:
    case Format::networks:
    case Format::squidguard_domains:
    case Format::squidguard_urls:
      return true;
    case Format::hosts:
    case Format::adblock:
    case Format::dnsmasq:
    case Format::unbound:
    case Format::rpz:
    case Format::squidguard_expressions:
    case Format::csv:
    case Format::privoxy:
    case Format::json_lines:
      break;
  }
  return false;
}

// "!#include other.txt" and "!#if ..." are no comments: what they stand for is missing, or holds for some readers only.
// Other lines of this kind are.
LineOutcome directive(std::string_view text, EntryGate& gate) {
  const AdblockLine what = adblock_line(text);
  if (what == AdblockLine::include) return unsupported("include of another list");
  if (what != AdblockLine::condition) return {LineClass::comment};
  gate.warn(kWarnCondition);
  return {LineClass::boilerplate};
}

void note_stated_count(const LineWalk& lines, FileReport& report) {
  if (const auto count = stated_count(lines.line())) report.note_stated(*count, lines.number(), lines.line());
}

}  // namespace

std::unique_ptr<LineParser> make_line_parser(const ParsePlan& plan) {
  switch (plan.format) {
    case Format::auto_detect:
    case Format::domains:
    case Format::wildcard:
    case Format::squidguard_domains:
      return make_domain_parser(plan);
    case Format::hosts:
      return make_hosts_parser(plan);
    case Format::adblock:
      return make_adblock_parser(plan);
    case Format::dnsmasq:
      return make_dnsmasq_parser(plan);
    case Format::unbound:
      return make_unbound_parser(plan);
    case Format::rpz:
      return make_rpz_parser(plan);
    case Format::squidguard_urls:
    case Format::squidguard_expressions:
    case Format::urls:
      return make_url_parser(plan);
    case Format::csv:
      return make_csv_parser(plan);
    case Format::privoxy:
      return make_privoxy_parser(plan);
    case Format::mixed:
      return make_mixed_parser(plan);
    case Format::networks:
      return make_network_parser(plan);
    case Format::json_lines:
      return make_json_lines_parser(plan);
  }
  return make_domain_parser(plan);
}

struct BlockParser::State {
  explicit State(std::shared_ptr<const ParsePlan> the_plan)
      : plan(std::move(the_plan)), parser(with_tail(*plan, make_line_parser(*plan))), gate(*plan) {}
  std::shared_ptr<const ParsePlan> plan;
  std::unique_ptr<LineParser> parser;
  EntryGate gate;
  bool has_directives = may_hold_directives(plan->format);
  bool may_refang = may_be_refanged(plan->format);
  std::string scratch = {};

  LineOutcome line(std::string_view text, bool look_for_brackets) {
    const bool defanged = may_refang && (look_for_brackets || has_odd_scheme(text));
    const std::string_view meant = defanged ? refanged(text, scratch) : text;
    LineOutcome outcome = parser->line(meant, gate);
    // A line that gives nothing for blanks of Unicode between its words is read once more with plain ones. Not where
    // lines belong together, for the parser would see one twice.
    if (!outcome.reason.empty() && is_order_free(plan->format) && has_unicode_blank(meant)) {
      outcome = parser->line(with_plain_blanks(meant), gate);
    }
    if (outcome.used() && meant.data() != text.data()) gate.warn(kWarnDefanged);
    return outcome;
  }
};

BlockParser::BlockParser(std::shared_ptr<const ParsePlan> plan) : state_(std::make_unique<State>(std::move(plan))) {}
BlockParser::BlockParser(BlockParser&&) noexcept = default;
BlockParser& BlockParser::operator=(BlockParser&&) noexcept = default;
BlockParser::~BlockParser() = default;

void BlockParser::parse(const LineBlock& block, ListSink& sink, FileReport& report) {
  EntryGate& gate = state_->gate;
  gate.bind(sink, report);
  const bool look_for_nul = has_nul(block.text);
  const bool look_for_brackets = state_->may_refang && may_be_defanged(block.text);
  const bool look_for_returns = block.text.find('\r') != std::string::npos;
  LineWalk lines(block.text, block.first_line);
  while (lines.next()) {
    gate.begin_line(lines.number(), lines.line());
    LineOutcome outcome;
    if (lines.too_long()) {
      outcome = malformed("line over 64 KiB");
    } else if (look_for_nul && has_nul(lines.line())) {
      outcome = malformed("NUL octets");
    } else if (look_for_returns && has_lone_return(lines.line())) {
      outcome = malformed("carriage return inside the line");
    } else if (const std::string_view text = trim(lines.line()); text.starts_with("!#") && state_->has_directives) {
      outcome = directive(text, gate);
    } else {
      outcome = state_->line(lines.line(), look_for_brackets);
    }
    if (outcome.what == LineClass::comment) note_stated_count(lines, report);
    ++report.lines;
    count_outcome(outcome, lines.number(), lines.line(), report);
  }
  if (!block.text.empty() && block.text.back() != '\n') report.open_line = lines.number();
}

void BlockParser::finish(ListSink& sink, FileReport& report) {
  EntryGate& gate = state_->gate;
  gate.bind(sink, report);
  gate.begin_line(gate.line(), {});
  state_->parser->finish(gate);
}

}  // namespace bloomwall::filter
