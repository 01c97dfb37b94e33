// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/entry_gate.h"

#include <algorithm>
#include <array>

#include "filter/lists/public_suffix.h"
#include "filter/text.h"

namespace bloomwall::filter {
namespace {

// Octets that no host has: what stands with them is something else.
constexpr std::array<bool, 256> make_host_breakers() {
  std::array<bool, 256> table{};
  for (const char c : {'/', '\\', '*', '?', ':', '[', ']', '@', ' ', '\t', '|', '^', ',', '"', '=', '<', '>', '#'}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr std::array<bool, 256> kHostBreakers = make_host_breakers();

bool plain_host(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return kHostBreakers[static_cast<unsigned char>(c)]; });
}

bool looks_like_ipv6(std::string_view text) {
  return std::count(text.begin(), text.end(), ':') >= 2 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_hex(c) || c == ':' || c == '.'; });
}

bool looks_like_range(std::string_view text) {
  const std::string_view address = next_part(text, '/');
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  return digits && !address.empty() && (is_digit(address.front()) || looks_like_ipv6(address)) &&
         std::all_of(address.begin(), address.end(), [](char c) { return is_hex(c) || c == ':' || c == '.'; });
}

LineOutcome why_no_host(std::string_view text) {
  if (looks_like_range(text)) return unsupported("address range");
  if (text.find('*') != std::string_view::npos) return unsupported("wildcard inside a host");
  if (!scheme_of(text).empty()) return malformed("URL where a host is expected");
  if (text.find('/') != std::string_view::npos) return malformed("path where a host is expected");
  if (std::any_of(text.begin(), text.end(), is_blank)) return malformed("several words where a host is expected");
  if (text.find(':') != std::string_view::npos) return unsupported("host with a port");
  return malformed("octets that no host has");
}

LineOutcome why_not(const ParsedEntry& parsed) {
  switch (parsed.problem) {
    case EntryProblem::none:
    case EntryProblem::odd:
      break;
    case EntryProblem::empty:
      return malformed("no host");
    case EntryProblem::no_host:
      return malformed(to_string(parsed.url_reason));
    case EntryProblem::single_label:
      break;
    case EntryProblem::pattern:
      return unsupported("pattern that no key stands for");
  }
  return malformed("no host");
}

}  // namespace

LineOutcome EntryGate::used(Side side) const {
  return {side == Side::allow || to_allow_ ? LineClass::allowed : LineClass::taken};
}

EntryGate::CheckedHost EntryGate::check_host(std::string_view text, Kind kind) {
  if (!plain_host(text) && !text.starts_with('[') && !looks_like_ipv6(text)) return {why_no_host(text), {}};
  const ParsedEntry parsed = parser_.domain(text, kind);
  if (parsed.entries.empty()) return {why_not(parsed), {}};
  Entry entry = parsed.entries.front();
  if (entry.host_kind == HostKind::name && is_public_suffix(entry.host)) {
    if (entry.host.find('.') != std::string_view::npos) {
      warn(kWarnPublicSuffix);
    } else if (!allow_tld_) {
      return {unsupported("top-level domain"), {}};
    } else {
      ++report_->tlds_taken;
    }
  }
  if (parsed.problem == EntryProblem::odd) warn(kWarnOdd);
  return {{LineClass::taken}, entry};
}

LineOutcome EntryGate::host(std::string_view text, Kind kind, Side side) {
  const CheckedHost checked = check_host(text, kind);
  if (!checked.outcome.used()) return checked.outcome;
  hand_over(checked.entry, side, line_);
  return used(side);
}

LineOutcome EntryGate::url(std::string_view text, Side side) { return each(parser_.url(text), false, side); }

LineOutcome EntryGate::url_prefix(std::string_view text, Side side) { return each(parser_.url(text), true, side); }

LineOutcome EntryGate::each(const ParsedEntry& parsed, bool as_prefix, Side side) {
  if (parsed.entries.empty()) return why_not(parsed);
  const bool allowing = side == Side::allow || to_allow_;
  // An allow entry must not open more than one reading of a path.
  if (allowing && parsed.entries.size() > 1) return unsupported("allow rule with an ambiguous path");
  if (parsed.problem == EntryProblem::odd) warn(kWarnOdd);
  for (Entry entry : parsed.entries) {
    if (entry.kind == Kind::suffix && entry.host_kind == HostKind::name && is_public_suffix(entry.host)) {
      entry.kind = Kind::exact_host;
      warn(kWarnPublicSuffixUrl);
    }
    hand_over(entry, side, line_);
    if (as_prefix && entry.kind == Kind::url) hand_over_children(entry, side);
  }
  return used(side);
}

// "/dir" as a prefix also stands for what is under "/dir/".
void EntryGate::hand_over_children(const Entry& entry, Side side) {
  Entry directory = entry;
  directory.kind = Kind::directory;
  scratch_.assign(entry.path);
  if (!scratch_.ends_with('/')) scratch_.push_back('/');
  directory.path = scratch_;
  hand_over(directory, side, line_);
}

void EntryGate::hand_over(const Entry& entry, Side side, std::uint64_t line) {
  if (side == Side::allow || to_allow_) {
    const bool one_host = entry.kind == Kind::exact_host || entry.kind == Kind::subdomains;
    if (one_host && entry.host_kind == HostKind::name) warn(kWarnAllowWidened);
    ++report_->allow_rules;
    sink_->allow(text_of(entry), line);
    return;
  }
  ++report_->entries[index_of(entry.kind)];
  if (entry.host_kind != HostKind::name) {
    ++report_->addresses;
  } else if (entry.host.find('.') == std::string_view::npos) {
    ++report_->single_label;
  }
  sink_->entry(entry, line);
}

}  // namespace bloomwall::filter
