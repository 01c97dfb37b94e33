// Response policy zones. The owner of a record says what is meant, its data what happens:
//   x CNAME .    x CNAME *.    x CNAME rpz-drop.    x CNAME other.example.    x A 192.0.2.1     the name x is stopped
//   x CNAME rpz-passthru.      x CNAME x.                                                       allow rule
// Actions are names at the root: without its last dot "rpz-passthru", or x itself, is a name in the zone, which answers are
// rewritten to, so that x is stopped (draft-vixie-dnsop-dns-rpz, BIND).
// x alone is X, *.x alone is W, both (the usual case) are one S. An IP address as owner is X.
// Unsupported: triggers other than names (rpz-ip, rpz-nsip, rpz-nsdname, rpz-client-ip), rpz-tcp-only, "*" alone, data of
// other types, $INCLUDE, $GENERATE. Boilerplate: SOA, NS, DNSSEC records, $TTL, $ORIGIN, lines of a record that goes on.
// A parenthesis that is never closed, or that would swallow a line which is a record by itself, was a mistake: its line is
// malformed and the others are read by themselves.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "filter/lists/address_text.h"
#include "filter/lists/entry_gate.h"
#include "filter/lists/held_lines.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/rpz_pairs.h"
#include "filter/lists/zone_record.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMaxRpzRecordLines = 100;  // records of keys and signatures have some ten
constexpr std::string_view kOpenParenthesis = "parenthesis is not closed";
constexpr std::array<std::string_view, 10> kZoneTypes{"SOA",   "NS",         "DNSKEY", "RRSIG",   "NSEC",
                                                      "NSEC3", "NSEC3PARAM", "CDS",    "CDNSKEY", "ZONEMD"};

bool is_zone_type(std::string_view type) { return is_one_of(type, kZoneTypes); }

// Why the owner is no name that a request could have; empty where it is one.
std::string_view other_trigger(std::string_view owner) {
  const std::size_t dot = owner.rfind('.');
  const std::string_view last = owner.substr(dot == std::string_view::npos ? 0 : dot + 1);
  if (!starts_ignoring_case(last, "rpz-")) return {};
  if (equals_ignoring_case(last, "rpz-ip")) return "rpz-ip trigger";
  if (equals_ignoring_case(last, "rpz-client-ip")) return "rpz-client-ip trigger";
  if (equals_ignoring_case(last, "rpz-nsip")) return "rpz-nsip trigger";
  if (equals_ignoring_case(last, "rpz-nsdname")) return "rpz-nsdname trigger";
  return {};
}

// A whole record with an owner, as no line inside parentheses is: "x 300 IN CNAME .", "x A 192.0.2.1".
bool is_record(std::string_view text) {
  if (text.empty() || is_blank(text.front())) return false;
  next_word(text);
  for (int i = 0; i < 3; ++i) {
    const std::string_view word = next_word(text);
    if (equals_ignoring_case(word, "CNAME")) return true;
    if (equals_ignoring_case(word, "A") || equals_ignoring_case(word, "AAAA")) return is_address(next_word(text));
  }
  return false;
}

bool is_action(std::string_view data, std::string_view name) {
  return data.ends_with('.') && equals_ignoring_case(data.substr(0, data.size() - 1), name);
}

class RpzParser final : public LineParser {
 public:
  LineOutcome line(std::string_view text, EntryGate& gate) override {
    if (!held_.empty() && (held_.full() || is_record(text))) return without_held(text, gate);
    switch (zone_.line(text)) {
      case ZoneLine::blank:
        return {LineClass::blank};
      case ZoneLine::comment:
        return {LineClass::comment};
      case ZoneLine::directive:
        return {LineClass::boilerplate};
      case ZoneLine::open:
        return held_.hold(text, gate);
      case ZoneLine::unread:
        return unsupported("directive that adds names from elsewhere");
      case ZoneLine::never_closed:
        return held_.empty() ? malformed(kOpenParenthesis) : without_held(text, gate);
      case ZoneLine::damaged:
        return held_.empty() ? malformed("not a zone record") : without_held(text, gate);
      case ZoneLine::record:
        return whole_record(gate);
    }
    return malformed("not a zone record");
  }

  void finish(EntryGate& gate) override {
    while (!held_.empty()) give_up(gate);
    pairs_.flush(gate);
  }

 private:
  LineOutcome whole_record(EntryGate& gate) {
    const LineOutcome outcome = record(zone_.record(), gate);
    if (outcome.what == LineClass::malformed) {
      held_.lose(gate, outcome);
    } else {
      held_.use_up(gate);
    }
    return outcome;
  }

  void give_up(EntryGate& gate) {
    zone_.abandon();
    held_.give_up(gate, malformed(kOpenParenthesis),
                  [this](std::string_view text, EntryGate& g) { return line(text, g); });
  }
  LineOutcome without_held(std::string_view text, EntryGate& gate) {
    give_up(gate);
    return line(text, gate);
  }

  LineOutcome record(const ZoneRecord& record, EntryGate& gate) {
    if (is_zone_type(record.type)) return {LineClass::boilerplate};
    if (record.owner.empty() || record.owner == "*") return unsupported("every name");
    if (const auto trigger = other_trigger(record.owner); !trigger.empty()) return unsupported(trigger);
    if (equals_ignoring_case(record.type, "A") || equals_ignoring_case(record.type, "AAAA")) {
      return name(record.owner, Side::block, gate);
    }
    if (!equals_ignoring_case(record.type, "CNAME")) return unsupported("local data of a type other than addresses");
    if (record.data.empty()) return malformed("CNAME without a target");
    if (is_action(record.data, "rpz-tcp-only")) return unsupported("rpz-tcp-only");
    if (starts_ignoring_case(record.data, "rpz-") && record.data.find('.') == std::string_view::npos) {
      gate.warn(kWarnRelativeAction);
    }
    const bool passes = is_action(record.data, "rpz-passthru") || record.owner_is_data;
    return name(record.owner, passes ? Side::allow : Side::block, gate);
  }

  LineOutcome name(std::string_view owner, Side side, EntryGate& gate) {
    const bool wildcard = owner.starts_with("*.");
    if (wildcard) owner.remove_prefix(2);
    const auto checked = gate.check_host(owner, wildcard ? Kind::subdomains : Kind::exact_host);
    if (!checked.outcome.used()) return checked.outcome;
    if (checked.entry.host_kind != HostKind::name) {
      if (wildcard) return unsupported("subdomains of an address");
      gate.hand_over(checked.entry, side, gate.line());
    } else {
      pairs_.add(checked.entry.host, wildcard, side, gate);
    }
    return gate.used(side);
  }

  ZoneReader zone_;
  RpzPairs pairs_;
  HeldLines held_{kMaxRpzRecordLines};
};

}  // namespace

std::unique_ptr<LineParser> make_rpz_parser(const ParsePlan& /*plan*/) { return std::make_unique<RpzParser>(); }

}  // namespace bloomwall::filter
