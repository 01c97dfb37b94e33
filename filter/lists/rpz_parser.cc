// Response policy zones. The owner of a record says what is meant, its data what happens:
//   x CNAME .    x CNAME *.    x CNAME rpz-drop.    x CNAME other.example.    x A 192.0.2.1     the name x is stopped
//   x CNAME rpz-passthru.      x CNAME x.                                                       allow rule
// Actions are names at the root: without its last dot "rpz-passthru", or x itself, is a name in the zone, which answers
// are rewritten to, so that x is stopped (draft-vixie-dnsop-dns-rpz, BIND).
// x alone is X, *.x alone is W, both (the usual case) are one S. An IP address as owner is X.
// Unsupported: triggers other than names (rpz-ip, rpz-nsip, rpz-nsdname, rpz-client-ip), rpz-tcp-only, "*" alone, data
// of other types, $INCLUDE, $GENERATE. Boilerplate: SOA, NS, DNSSEC records, $TTL, $ORIGIN, lines of a record that goes
// on. A parenthesis that is never closed, or that would swallow a line which is a record by itself, was a mistake: its
// line is malformed and the others are read by themselves.
// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/rpz_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "filter/lists/line_parser.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/list_format.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

bool is_ttl(std::string_view word) {
  return !word.empty() && is_digit(word.front()) && std::all_of(word.begin(), word.end(), [](char c) {
    return is_digit(c) || std::string_view("smhdw").find(to_lower(c)) != std::string_view::npos;
  });
}

bool is_class(std::string_view word) {
  return equals_ignoring_case(word, "IN") || equals_ignoring_case(word, "CH") || equals_ignoring_case(word, "HS");
}

std::string_view without_last_dot(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return name;
}

bool is_under(std::string_view name, std::string_view zone) {
  return name.size() > zone.size() && name[name.size() - zone.size() - 1] == '.' &&
         equals_ignoring_case(name.substr(name.size() - zone.size()), zone);
}

}  // namespace

void ZoneReader::add_word(std::string_view word) {
  if (!word.empty() && count_ < kMaxWords) words_[count_++] = word;
}

// Cuts `text` into words and counts parentheses. False where one is closed that was not open.
bool ZoneReader::split(std::string_view text) {
  std::size_t start = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    if (c == '"') quoted = !quoted;
    if (quoted && i < text.size()) continue;
    const bool ends = is_blank(c) || c == ';' || c == '(' || c == ')';
    if (!ends) continue;
    add_word(text.substr(start, i - start));
    start = i + 1;
    if (c == ';') return true;
    depth_ += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth_ < 0) return false;
  }
  return true;
}

ZoneLine ZoneReader::line(std::string_view text) {
  const bool starts_record = depth_ == 0;
  count_ = 0;
  if (starts_record) {
    held_.clear();
    held_lines_ = 0;
    inherits_ = !text.empty() && is_blank(text.front());
  }
  if (!split(text)) {
    depth_ = 0;
    return ZoneLine::damaged;
  }
  if (!starts_record || depth_ > 0) return hold();
  if (count_ == 0) return trim(text).empty() ? ZoneLine::blank : ZoneLine::comment;
  return words_[0].starts_with('$') && !inherits_ ? directive() : read_record();
}

ZoneLine ZoneReader::hold() {
  for (std::size_t i = 0; i < count_; ++i) held_.append(words_[i]).push_back(' ');
  ++held_lines_;
  if (depth_ > 0) {
    if (held_.size() <= kMaxHeld && held_lines_ <= kMaxLines) return ZoneLine::open;
    depth_ = 0;
    return ZoneLine::never_closed;
  }
  count_ = 0;
  split(held_);
  depth_ = 0;  // quotes left open on one line may have hidden a parenthesis that shows now
  return count_ == 0 ? ZoneLine::damaged : read_record();
}

ZoneLine ZoneReader::directive() {
  if (equals_ignoring_case(words_[0], "$TTL")) return ZoneLine::directive;
  if (!equals_ignoring_case(words_[0], "$ORIGIN")) return ZoneLine::unread;
  if (count_ < 2) return ZoneLine::damaged;
  const bool relative = !words_[1].ends_with('.') && !origin_.empty();
  std::string origin{without_last_dot(words_[1])};
  if (relative) origin.append(".").append(origin_);
  origin_ = origin;
  if (zone_.empty()) zone_ = origin_;
  return ZoneLine::directive;
}

// The owner as it is under the zone. The result lives in owner_ or in the line.
std::string_view ZoneReader::resolve(std::string_view owner) {
  if (owner == "@") {
    owner_ = origin_;
  } else if (owner.ends_with('.')) {
    owner_ = without_last_dot(owner);
  } else {
    owner_ = owner;
    if (!origin_.empty()) owner_.append(".").append(origin_);
  }
  return owner_;
}

ZoneLine ZoneReader::read_record() {
  std::size_t at = inherits_ ? 0 : 1;
  if (!inherits_) resolve(words_[0]);
  for (int i = 0; i < 2 && at < count_ && (is_ttl(words_[at]) || is_class(words_[at])); ++i) ++at;
  if (at >= count_) return ZoneLine::damaged;
  record_.type = words_[at];
  record_.data = at + 1 < count_ ? words_[at + 1] : std::string_view{};
  if (zone_.empty() && equals_ignoring_case(record_.type, "SOA")) zone_ = owner_;
  std::string_view owner = owner_;
  if (!zone_.empty() && equals_ignoring_case(owner, zone_)) {
    owner = {};
  } else if (!zone_.empty() && is_under(owner, zone_)) {
    owner.remove_suffix(zone_.size() + 1);
  }
  record_.owner = owner;
  // A name without its last dot is one in the zone, and another.
  record_.owner_is_data =
      !owner.empty() && record_.data.ends_with('.') && equals_ignoring_case(without_last_dot(record_.data), owner);
  return ZoneLine::record;
}

namespace {

// Owners of records that stop or free a name, with their last dot where they have one; none where the zone is named.
std::vector<std::string> owners_of(std::string_view sample) {
  std::vector<std::string> owners;
  ZoneReader reader;
  for (LineWalk lines(sample); lines.next() && owners.size() < kSampleLines;) {
    const ZoneLine line = reader.line(lines.line());
    if (reader.knows_zone()) return {};
    if (line != ZoneLine::record || lines.line().empty() || is_blank(lines.line().front())) continue;
    const std::string_view type = reader.record().type;
    if (!equals_ignoring_case(type, "CNAME") && !equals_ignoring_case(type, "A") &&
        !equals_ignoring_case(type, "AAAA")) {
      continue;
    }
    std::string_view rest = lines.line();
    std::string_view owner = next_word(rest);
    if (owner.starts_with("*.")) owner.remove_prefix(2);
    owners.emplace_back(owner);
  }
  return owners;
}

// Whether nine of ten end in ".zone." after a host.
bool is_zone_of(std::string_view zone, const std::vector<std::string>& owners) {
  std::size_t under = 0;
  for (const std::string_view owner : owners) {
    if (owner.size() <= zone.size() || !equals_ignoring_case(owner.substr(owner.size() - zone.size()), zone)) continue;
    const std::string_view name = owner.substr(0, owner.size() - zone.size());
    if (name.ends_with('.') && indicator_of(name.substr(0, name.size() - 1)) == Indicator::host) ++under;
  }
  return under * 10 >= owners.size() * 9;
}

}  // namespace

Result<void> refuse_unknown_zone(std::string_view sample, std::string_view path) {
  const std::vector<std::string> owners = owners_of(sample);
  if (owners.size() < 2 || !owners.front().ends_with('.')) return {};
  // Most of the owners end alike, so that one of any two neighbours does.
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string_view owner = owners[i];
    for (std::size_t dot = owner.find('.'); dot < owner.size(); dot = owner.find('.', dot + 1)) {
      const std::string_view zone = owner.substr(dot + 1);
      if (!zone.ends_with('.') || is_public_suffix(zone.substr(0, zone.size() - 1)) || !is_zone_of(zone, owners))
        continue;
      return unexpected(
          Error{Errc::usage, std::string(path),
                fmt::format("most names in it end in \"{}\", which seems to be the zone's own name, and no "
                            "line says so; put the line \"$ORIGIN {}\" before the others",
                            zone, zone)});
    }
  }
  return {};
}

namespace {
constexpr char kBlockKey = '-';
constexpr char kAllowKey = '+';

}  // namespace

void RpzPairs::hand_over(const std::string& key, Kind kind, std::uint64_t line, EntryGate& gate) {
  Entry entry;
  entry.kind = kind;
  entry.host = std::string_view(key).substr(1);
  gate.hand_over(entry, key.front() == kAllowKey ? Side::allow : Side::block, line);
}

void RpzPairs::add(std::string_view host, bool wildcard, Side side, EntryGate& gate) {
  std::string key(1, side == Side::allow ? kAllowKey : kBlockKey);
  key.append(host);
  const auto [at, is_new] = halves_.try_emplace(key, Half{gate.line(), wildcard, false});
  if (is_new) {
    order_.push_back(std::move(key));
    if (order_.size() > window_) forget_oldest(gate);
    return;
  }
  Half& half = at->second;
  if (half.paired || half.wildcard == wildcard) return;
  half.paired = true;
  hand_over(at->first, Kind::suffix, half.line, gate);
}

void RpzPairs::forget_oldest(EntryGate& gate) {
  const auto at = halves_.find(order_.front());
  const Half half = at->second;
  if (!half.paired) hand_over(at->first, half.wildcard ? Kind::subdomains : Kind::exact_host, half.line, gate);
  halves_.erase(at);
  order_.pop_front();
}

void RpzPairs::flush(EntryGate& gate) {
  while (!order_.empty()) forget_oldest(gate);
}

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
