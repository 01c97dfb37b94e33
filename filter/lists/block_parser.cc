// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "filter/lists/entry_gate.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/list_reader.h"

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
  }
  return make_domain_parser(plan);
}

struct BlockParser::State {
  explicit State(std::shared_ptr<const ParsePlan> the_plan)
      : plan(std::move(the_plan)), parser(make_line_parser(*plan)), gate(*plan) {}
  std::shared_ptr<const ParsePlan> plan;
  std::unique_ptr<LineParser> parser;
  EntryGate gate;
};

BlockParser::BlockParser(std::shared_ptr<const ParsePlan> plan) : state_(std::make_unique<State>(std::move(plan))) {}
BlockParser::BlockParser(BlockParser&&) noexcept = default;
BlockParser& BlockParser::operator=(BlockParser&&) noexcept = default;
BlockParser::~BlockParser() = default;

void BlockParser::parse(const LineBlock& block, ListSink& sink, FileReport& report) {
  EntryGate& gate = state_->gate;
  gate.bind(sink, report);
  const bool look_for_nul = has_nul(block.text);
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
    } else {
      outcome = state_->parser->line(lines.line(), gate);
    }
    ++report.lines;
    count_outcome(outcome, lines.number(), lines.line(), report);
  }
}

void BlockParser::finish(ListSink& sink, FileReport& report) {
  EntryGate& gate = state_->gate;
  gate.bind(sink, report);
  gate.begin_line(gate.line(), {});
  state_->parser->finish(gate);
}

}  // namespace bloomwall::filter
