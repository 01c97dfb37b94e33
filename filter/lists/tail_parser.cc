// A list whose format was told from its first lines, and in which lines of other formats may follow: two lists that
// were joined, a sorted list whose rules come last. A line that the format can't use is read as one of a mixed list
// where its shape is unambiguous beside that format; everything that the format reads keeps its meaning. The outcome of
// a line depends on that line alone, so lists are read once, in any order, from a pipe too. Which lines these were is
// counted in FileReport::other_formats.
//   domains, wildcard, hosts, urls, dnsmasq, networks, squidguard_*   every shape that a mixed list may hold
//   adblock             what can't be a piece of a URL: dnsmasq, unbound, hosts, ranges, URLs without "*", "^", "|"
//                       and modifiers, "*.host" under a top-level domain
//   unbound, rpz        adblock hosts, URLs, hosts, dnsmasq (unbound), and names alone in their line
//   csv, json-lines, privoxy   none: the text of a broken record is no entry, and a pattern needs its section
// A $badfilter rule among such lines takes nothing back, and counts as unusable.
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"

namespace bloomwall::filter {
namespace {

bool stands_alone(Format format) {
  return format == Format::csv || format == Format::json_lines || format == Format::privoxy ||
         format == Format::squidguard_expressions;
}

bool is_name_alone(std::string_view text) { return is_dotted_name(without_comment(text, kListMarks)); }

// Whether a line of that shape, which `format` can't use, can be nothing but a line of another format.
bool is_unambiguous(Format format, LineShape shape, std::string_view text) {
  if (format == Format::adblock && may_be_pattern(shape, text)) return false;
  switch (shape) {
    case LineShape::dnsmasq:
    case LineShape::unbound:
    case LineShape::hosts:
    case LineShape::url:
      return true;
    case LineShape::range:
      return format != Format::unbound && format != Format::rpz;
    case LineShape::wildcard:
      return format != Format::rpz;
    case LineShape::adblock_host:
      return format != Format::adblock;
    case LineShape::other:
      if (format == Format::unbound || format == Format::rpz) return is_name_alone(text);
      return format != Format::adblock && !is_sink(without_comment(text, kListMarks));
    case LineShape::adblock:
    case LineShape::adblock_title:
    case LineShape::url_no_scheme:
      return format != Format::adblock && format != Format::unbound && format != Format::rpz;
    case LineShape::empty:
    case LineShape::privoxy:
    case LineShape::zone_head:
    case LineShape::zone_record:
    case LineShape::columns:
    case LineShape::csv:
    case LineShape::csv_header:
      break;
  }
  return false;
}

std::string_view format_of(LineShape shape) {
  switch (shape) {
    case LineShape::dnsmasq:
      return "dnsmasq";
    case LineShape::unbound:
      return "unbound";
    case LineShape::hosts:
      return "hosts";
    case LineShape::url:
    case LineShape::url_no_scheme:
      return "urls";
    case LineShape::wildcard:
      return "wildcard";
    case LineShape::adblock:
    case LineShape::adblock_host:
    case LineShape::adblock_title:
      return "adblock";
    case LineShape::range:
      return "networks";
    case LineShape::empty:
    case LineShape::privoxy:
    case LineShape::zone_head:
    case LineShape::zone_record:
    case LineShape::columns:
    case LineShape::csv:
    case LineShape::csv_header:
    case LineShape::other:
      break;
  }
  return "domains";
}

class TailParser final : public LineParser {
 public:
  TailParser(const ParsePlan& plan, std::unique_ptr<LineParser> own) : format_(plan.format), own_(std::move(own)) {
    ParsePlan mixed = plan;
    mixed.format = Format::mixed;
    mixed_ = make_mixed_parser(mixed);
  }

  LineOutcome line(std::string_view text, EntryGate& gate) override {
    const LineOutcome own = own_->line(text, gate);
    if (own.what != LineClass::malformed && own.what != LineClass::unsupported) return own;
    const LineShape shape = shape_of(text);
    if (!is_unambiguous(format_, shape, trim(text))) return own;
    const LineOutcome other = mixed_->line(text, gate);
    const bool says_more = own.what == LineClass::malformed && other.what != LineClass::malformed;
    if (!other.used() && !says_more) return own;
    gate.read_as_other(format_of(shape));
    return other;
  }
  void finish(EntryGate& gate) override { own_->finish(gate); }

 private:
  Format format_;
  std::unique_ptr<LineParser> own_, mixed_;
};

}  // namespace

std::unique_ptr<LineParser> with_tail(const ParsePlan& plan, std::unique_ptr<LineParser> own) {
  const bool mixed = plan.format == Format::mixed || plan.format == Format::auto_detect;
  if (!plan.detected || mixed || stands_alone(plan.format)) return own;
  return std::make_unique<TailParser>(plan, std::move(own));
}

}  // namespace bloomwall::filter
