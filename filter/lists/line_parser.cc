// SPDX-License-Identifier: Apache-2.0

#include "filter/lists/line_parser.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "filter/lists/line_shape.h"
#include "filter/lists/p2p_range.h"
#include "filter/url/host.h"
#include "filter/url/host_text.h"

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

bool has_mark(std::string_view text) { return text.find(kByteOrderMark) != std::string_view::npos; }

constexpr std::string_view kNoSuchHost = "host that no request can have";
constexpr std::string_view kMarkInside = "byte order mark inside the line";

// The part of a URL between its scheme, if any, and its path.
std::string_view authority_of(std::string_view text) {
  if (const std::string_view scheme = scheme_of(text); !scheme.empty()) text.remove_prefix(scheme.size() + 3);
  return text.substr(0, text.find_first_of("/\\?#"));
}

// "-good.com", "good-.com": no registry gives such a name.
bool has_hyphen_at_the_edge(std::string_view host) {
  const std::size_t dot = host.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view label = host.substr(0, dot).substr(host.rfind('.', dot - 1) + 1);
  return label.starts_with('-') || label.ends_with('-');
}

// A range of several addresses, or the columns of a netblock.
RangeReading range_in(std::string_view text) {
  const RangeReading reading = read_address_range(text);
  const bool columns = reading.outcome == RangeReading::Outcome::no_range && !text.empty() && is_digit(text.front()) &&
                       std::any_of(text.begin(), text.end(), is_blank);
  if (columns) {
    const RangeReading netblock = read_netblock(text);
    return netblock.outcome == RangeReading::Outcome::no_range ? read_p2p_range(text) : netblock;
  }
  return reading.outcome == RangeReading::Outcome::no_range ? read_p2p_range(text) : reading;
}

// Loopback, link-local and private networks: such an address is on the local network.
bool is_local(const AddressRange& range) {
  static const std::array kLocal{read_address_range("0.0.0.0/8").range,      read_address_range("10.0.0.0/8").range,
                                 read_address_range("100.64.0.0/10").range,  read_address_range("127.0.0.0/8").range,
                                 read_address_range("169.254.0.0/16").range, read_address_range("172.16.0.0/12").range,
                                 read_address_range("192.168.0.0/16").range, read_address_range("::1/128").range,
                                 read_address_range("fc00::/7").range,       read_address_range("fe80::/10").range};
  return std::any_of(kLocal.begin(), kLocal.end(), [&](const AddressRange& local) {
    return local.is_v4() == range.is_v4() && local.first <= range.last && range.first <= local.last;
  });
}

// last - first >= 2^widest: so many bits of an address may differ at most.
bool is_too_wide(const AddressRange& range) {
  constexpr std::size_t kOctets = 16;
  const std::size_t upper = kOctets - (range.is_v4() ? kWidestIpv4 : kWidestIpv6) / 8;
  std::uint32_t above = 0;  // what the octets above the widest range come to in the difference
  std::uint32_t borrow = 0;
  for (std::size_t i = kOctets; i-- > 0;) {
    const std::uint32_t taken = std::uint32_t{range.first.octets[i]} + borrow;
    const std::uint32_t from{range.last.octets[i]};
    borrow = from < taken ? 1 : 0;
    if (i < upper) above |= from + (borrow << 8U) - taken;
  }
  return above != 0;
}

LineOutcome why_no_host(std::string_view text) {
  if (has_mark(text)) return malformed(kMarkInside);
  if (text.find('*') != std::string_view::npos) return unsupported("wildcard inside a host");
  if (!scheme_of(text).empty()) return malformed("URL where a host is expected");
  if (text.find('/') != std::string_view::npos) return malformed("path where a host is expected");
  if (std::any_of(text.begin(), text.end(), is_blank)) return malformed("several words where a host is expected");
  if (text.find(':') != std::string_view::npos) return malformed("text behind a colon that is no port");
  return malformed("octets that no host has");
}

// As an allow list has it: of a name alone, or of its subdomains alone, the rule of an ad blocker.
std::string allow_text(const Entry& entry) {
  if (entry.host_kind == HostKind::name && entry.kind == Kind::exact_host) return "@@|" + text_of(entry) + "^";
  if (entry.host_kind == HostKind::name && entry.kind == Kind::subdomains) return "@@||*." + text_of(entry) + "^";
  return text_of(entry);
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

LineOutcome EntryGate::used(Side side) const { return {is_allowed(side) ? LineClass::allowed : LineClass::taken}; }

EntryGate::CheckedHost EntryGate::check_host(std::string_view text, Kind kind) {
  if (has_mark(text)) return {malformed(kMarkInside), {}};
  const HostAndPort parts = split_port(bare_host(text));
  text = parts.host;
  if (!plain_host(text) && !text.starts_with('[') && !looks_like_ipv6(text)) return {why_no_host(text), {}};
  const ParsedEntry parsed = parser_.domain(text, kind);
  if (parsed.entries.empty()) return {why_not(parsed), {}};
  Entry entry = parsed.entries.front();
  if (parsed.problem == EntryProblem::odd && !can_be_asked_for(entry)) return {malformed(kNoSuchHost), {}};
  if (has_hyphen_at_the_edge(entry.host)) return {malformed("hyphen at the edge of a registered name"), {}};
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
  if (is_other_port(parts.port)) warn(kWarnPort);
  return {{LineClass::taken}, entry};
}

LineOutcome EntryGate::name(std::string_view text, Kind bare, Side side) {
  text = bare_host(text);
  if (text.starts_with("*.")) return host(text.substr(2), starred_, side);
  if (text.starts_with('.')) return host(text.substr(1), Kind::suffix, side);
  return host(text, bare, side);
}

LineOutcome EntryGate::host(std::string_view text, Kind kind, Side side) {
  text = bare_host(text);
  if (const RangeReading reading = range_in(text); reading.outcome != RangeReading::Outcome::no_range) {
    return range(reading, side);
  }
  const CheckedHost checked = check_host(text, kind);
  if (!checked.outcome.used()) return checked.outcome;
  hand_over(checked.entry, side, line_);
  return used(side);
}

LineOutcome EntryGate::range(const RangeReading& reading, Side side) {
  switch (reading.outcome) {
    case RangeReading::Outcome::no_range:
    case RangeReading::Outcome::malformed:
      if (!reading.has_host_bits) return malformed(reading.reason);
      break;
    case RangeReading::Outcome::unsupported:
      return unsupported(reading.reason);
    case RangeReading::Outcome::range:
      break;
  }
  if (reading.range.is_one_address() && !sink_->takes_ranges()) {
    return host(text_of(reading.range.first), Kind::exact_host, side);
  }
  const LineOutcome outcome = hand_over_range(reading.range, side);
  if (outcome.used() && reading.has_host_bits) warn(kWarnHostBits);
  return outcome;
}

LineOutcome EntryGate::network(std::string_view text) {
  if (has_mark(text)) return malformed(kMarkInside);
  text = bare_host(text);
  const RangeReading reading = range_in(text);
  if (reading.outcome == RangeReading::Outcome::range) return hand_over_range(reading.range, Side::block);
  if (reading.outcome != RangeReading::Outcome::no_range) return range(reading, Side::block);
  const HostAndPort parts = split_port(text);
  const auto address = read_address(parts.host);
  if (!address) return malformed("neither an address nor a range of addresses");
  if (is_other_port(parts.port)) warn(kWarnPort);
  return hand_over_range(range_of(*address), Side::block);
}

LineOutcome EntryGate::hand_over_range(const AddressRange& range, Side side) {
  if (!allow_wide_ranges_ && is_too_wide(range)) return unsupported("range too wide; --allow-wide-ranges takes it");
  if (is_allowed(side)) {
    ++report_->allow_rules;
    sink_->allow(range.is_one_address() ? text_of(range.first) : text_of(range), line_);
    return used(side);
  }
  if (!sink_->takes_ranges()) return unsupported("address range");
  if (is_local(range)) warn(kWarnLocalRange);
  ++report_->entries[index_of(Kind::network)];
  sink_->range(range, line_);
  return used(side);
}

LineOutcome EntryGate::url(std::string_view text, Side side) { return any_url(text, false, side, false); }

LineOutcome EntryGate::url_prefix(std::string_view text, Side side) { return any_url(text, true, side, false); }

LineOutcome EntryGate::any_url(std::string_view text, bool as_prefix, Side side, bool field) {
  if (has_mark(text)) return malformed(kMarkInside);
  text = trim_all_blanks(text);
  const bool has_scheme = !scheme_of(text).empty();
  if (authority_of(text).end() == text.end()) text = bare_host(text);
  // A fragment is never sent, so a blank in it does not matter.
  const std::string_view before_fragment = text.substr(0, text.find('#'));
  if (!field && std::any_of(before_fragment.begin(), before_fragment.end(), is_blank)) {
    return malformed("several words where a URL is expected");
  }
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    return malformed("control octets in a URL");
  }
  const std::string_view authority = authority_of(text);
  if (!has_scheme && authority.find('@') != std::string_view::npos) {
    return malformed("user before '@' without a scheme");
  }
  const RangeReading reading = read_address_range(has_scheme ? text : bare_host(text));
  // "192.0.2.5/42" can't be a range; where only URLs are expected it is a page of that address.
  const bool page =
      as_prefix && reading.outcome == RangeReading::Outcome::malformed && is_ipv4(text.substr(0, text.find('/')));
  if (reading.outcome != RangeReading::Outcome::no_range && !page) return range(reading, side);
  const std::string_view before_query = text.substr(0, text.find_first_of("?#"));
  const bool literal = field || has_scheme;
  if (!literal && before_fragment.find('*', before_query.size()) != std::string_view::npos) {
    return unsupported("wildcard inside a URL");
  }
  if (before_query.find('*') != std::string_view::npos) {
    const bool whole = before_query.size() == text.size() && before_query.ends_with("/*") &&
                       before_query.find('*') + 1 == before_query.size();
    if (!whole && !literal) return unsupported("wildcard inside a URL");
    if (whole) text.remove_suffix(1);
    as_prefix = as_prefix && !whole;
  }
  return parsed_url(text, as_prefix, side);
}

LineOutcome EntryGate::bare_url(std::string_view text) { return parsed_url(text, false, Side::block); }

LineOutcome EntryGate::parsed_url(std::string_view text, bool as_prefix, Side side) {
  const ParsedEntry parsed = parser_.url(text);
  if (!parsed.entries.empty() && parsed.problem == EntryProblem::odd && !can_be_asked_for(parsed.entries.front())) {
    return malformed(kNoSuchHost);
  }
  const LineOutcome outcome = each(parsed, as_prefix, side);
  if (outcome.used() && is_host_kind(parsed.entries.front().kind)) warn_of_whole_host(text);
  return outcome;
}

// "http://example.com/#!/page", "http://example.com//", "http://example.com:8080/": what stood behind the host is gone.
void EntryGate::warn_of_whole_host(std::string_view text) {
  text = trim(text);
  if (text.find('#') != std::string_view::npos) return warn(kWarnFragment);
  std::string_view authority = authority_of(text);
  const std::string_view tail =
      text.substr(static_cast<std::size_t>(authority.data() - text.data()) + authority.size());
  if (!tail.empty() && tail != "/") warn(kWarnRoot);
  authority = authority.substr(std::min(authority.rfind(']') + 1, authority.size()));  // npos + 1 is 0
  const std::size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && is_other_port(authority.substr(colon + 1))) warn(kWarnPort);
}

LineOutcome EntryGate::each(const ParsedEntry& parsed, bool as_prefix, Side side) {
  if (parsed.entries.empty()) return why_not(parsed);
  const bool allowing = is_allowed(side);
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
    if (!as_prefix && !allowing && entry.kind == Kind::url) hand_over_aliases(entry, side);
  }
  return used(side);
}

// "/dir" as a prefix also stands for what is under "/dir/". Not so "/", which "/..%2f" is to some servers: that would
// be the host.
void EntryGate::hand_over_children(const Entry& entry, Side side) {
  if (entry.path == "/") return;
  Entry directory = entry;
  directory.kind = Kind::directory;
  scratch_.assign(entry.path);
  if (!scratch_.ends_with('/')) scratch_.push_back('/');
  directory.path = scratch_;
  hand_over(directory, side, line_);
}

// What servers may answer with the same file.
void EntryGate::hand_over_aliases(const Entry& entry, Side side) {
  const std::size_t slash = entry.path.rfind('/');
  const std::string_view name = entry.path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return;
  if (path_info_) hand_over_children(entry, side);
  if (index_files_ && (name.substr(0, dot) == "index" || name.substr(0, dot) == "default")) {
    Entry folder = entry;
    folder.path = entry.path.substr(0, slash == 0 ? 1 : slash);
    hand_over(folder, side, line_);
  }
}

void EntryGate::hand_over(const Entry& entry, Side side, std::uint64_t line) {
  if (is_allowed(side)) {
    ++report_->allow_rules;
    sink_->allow(allow_text(entry), line);
    return;
  }
  if (is_important_) sink_->important(entry);
  ++report_->entries[index_of(entry.kind)];
  if (entry.host_kind != HostKind::name) {
    ++report_->addresses;
  } else if (entry.host.find('.') == std::string_view::npos) {
    ++report_->single_label;
  }
  sink_->entry(entry, line);
}

}  // namespace bloomwall::filter
