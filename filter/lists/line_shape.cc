// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/line_shape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/ip.h"
#include "base/text.h"
#include "filter/lists/adblock_rule.h"
#include "filter/lists/csv_layout.h"
#include "filter/lists/p2p_range.h"
#include "filter/url/address_range.h"
#include "filter/url/host.h"
#include "filter/url/host_text.h"

namespace bloomwall::filter {
namespace {

std::optional<IpAddress> read_ipv6_word(std::string_view word) {
  if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  word = word.substr(0, word.find('%'));  // a zone, as in fe80::1%lo0
  return word.find(':') == std::string_view::npos ? std::nullopt : IpAddress::parse(word);
}

// Four decimal parts; lists pad them with zeros.
std::optional<std::array<std::uint8_t, 4>> read_ipv4_word(std::string_view word) {
  std::array<std::uint8_t, 4> octets{};
  for (std::size_t part = 0; part < octets.size(); ++part) {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; digits < word.size() && digits < 3 && is_digit(word[digits]); ++digits) {
      value = value * 10 + static_cast<unsigned>(word[digits] - '0');
    }
    if (digits == 0 || value > 255) return std::nullopt;
    octets[part] = static_cast<std::uint8_t>(value);
    word.remove_prefix(digits);
    if (part + 1 == octets.size()) break;
    if (!word.starts_with('.')) return std::nullopt;
    word.remove_prefix(1);
  }
  if (!word.empty()) return std::nullopt;
  return octets;
}

bool is_name_octet(char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '_' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

bool is_ipv4(std::string_view word) { return read_ipv4_word(word).has_value(); }

bool is_address(std::string_view word) { return is_ipv4(word) || read_ipv6_word(word).has_value(); }

bool is_sink(std::string_view address) {
  if (const auto ipv4 = read_ipv4_word(address)) {
    const auto all = [&](std::uint8_t value) {
      return std::all_of(ipv4->begin(), ipv4->end(), [value](std::uint8_t octet) { return octet == value; });
    };
    return ipv4->front() == 127 || all(0) || all(255);
  }
  const auto ipv6 = read_ipv6_word(address);
  if (!ipv6) return false;
  const auto& octets = ipv6->octets;
  const bool upper_zero = std::all_of(octets.begin(), octets.end() - 1, [](std::uint8_t octet) { return octet == 0; });
  return octets[0] >= 0xfe || (upper_zero && octets[15] <= 1);
}

bool is_dotted_name(std::string_view word) {
  if (word.ends_with('.')) word.remove_suffix(1);
  const std::size_t dot = word.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view last = word.substr(dot + 1);
  return std::all_of(word.begin(), word.end(), is_name_octet) && !std::all_of(last.begin(), last.end(), is_digit);
}

RangeReading read_netblock(std::string_view text) {
  const std::string_view first = next_word(text);
  const std::string_view last = next_word(text);
  const std::string_view prefix = next_word(text);
  const bool number = !prefix.empty() && std::all_of(prefix.begin(), prefix.end(), is_digit);
  if (!number || !is_address(first) || !is_address(last)) return {};
  const RangeReading ends = read_address_range(std::string(first).append(1, '-').append(last));
  const RangeReading net = read_address_range(std::string(first).append(1, '/').append(prefix));
  if (ends.outcome == net.outcome && ends.range == net.range && ends.outcome != RangeReading::Outcome::no_range) {
    return net;
  }
  return {.outcome = RangeReading::Outcome::malformed,
          .reason = "first address, last address and prefix that do not agree"};
}

namespace {

bool is_hash(std::string_view text) {
  return (text.size() == 32 || text.size() == 40 || text.size() == 64) && std::all_of(text.begin(), text.end(), is_hex);
}

bool is_name(std::string_view host, TopLevels top_levels) {
  if (is_dotted_name(host)) return top_levels == TopLevels::any || ends_in_known_top_level(host);
  // "a\u3002example"
  return has_dot(host) && std::all_of(host.begin(), host.end(), is_name_octet) && ends_in_known_top_level(host);
}

}  // namespace

Indicator indicator_of(std::string_view text, TopLevels top_levels) {
  if (!scheme_of(text).empty()) return Indicator::url;
  if (is_hash(text)) return Indicator::hash;
  if (is_address(text)) return Indicator::host;
  const RangeReading range = read_address_range(text);
  if (range.outcome == RangeReading::Outcome::range || range.has_host_bits) return Indicator::host;
  if (text.starts_with("*.")) text.remove_prefix(2);
  if (text.starts_with('.')) text.remove_prefix(1);
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  const std::string_view host = split_port(bare_host(authority)).host;
  return is_address(host) || is_name(host, top_levels) ? Indicator::host : Indicator::none;
}

namespace {

bool is_csv_header(std::string_view text) {
  while (text.starts_with('#')) text.remove_prefix(1);
  return std::any_of(kCsvSeparators.begin(), kCsvSeparators.end(),
                     [text](char separator) { return csv_header_column(text, separator) != kNoColumn; });
}

LineShape comment_shape(std::string_view text) {
  if (text.front() == '!') return text.starts_with("! Title:") ? LineShape::adblock_title : LineShape::empty;
  if (text.front() == '#') {
    if (adblock_line(text) == AdblockLine::cosmetic) return LineShape::adblock;
    return is_csv_header(text) ? LineShape::csv_header : LineShape::empty;
  }
  return text.front() == ';' || text.starts_with("//") ? LineShape::empty : LineShape::other;
}

bool is_adblock(std::string_view text) {
  return text.starts_with("||") || text.starts_with("@@") || text.find("##") != std::string_view::npos ||
         text.find("#@#") != std::string_view::npos || adblock_line(text) == AdblockLine::cosmetic;
}

bool is_adblock_host(std::string_view text) {
  if (text.starts_with('|') && !text.starts_with("||")) {
    return text.ends_with('^') && is_dotted_name(text.substr(1, text.size() - 2));
  }
  if (!text.starts_with("||")) return false;
  if (text.ends_with('^')) text.remove_suffix(1);
  return text.substr(2).find_first_of("$*^|# ") == std::string_view::npos;
}

bool is_adblock_title(std::string_view text) {
  return starts_ignoring_case(text, "[adblock") || starts_ignoring_case(text, "[ublock") ||
         starts_ignoring_case(text, "[adguard");
}

bool is_privoxy(std::string_view text) {
  if (!text.starts_with('{')) return false;
  if (text.starts_with("{{")) return true;
  const std::string_view action = trim(text.substr(1));
  return action.starts_with('+') || action.starts_with('-') || action == "\\";
}

// The words of a record, of which the first is the owner.
LineShape zone_shape(std::string_view text) {
  if (text.starts_with("$TTL") || text.starts_with("$ORIGIN")) return LineShape::zone_head;
  std::string_view rest = text;
  next_word(rest);
  for (int i = 0; i < 3; ++i) {
    const std::string_view word = next_word(rest);
    if (equals_ignoring_case(word, "SOA")) return LineShape::zone_head;
    if (equals_ignoring_case(word, "CNAME")) return LineShape::zone_record;
  }
  return LineShape::other;
}

bool is_dnsmasq(std::string_view text) {
  if (text.starts_with("--")) text.remove_prefix(2);
  const std::string_view option = next_part(text, '=');
  return text.starts_with('/') && (equals_ignoring_case(option, "address") || equals_ignoring_case(option, "server") ||
                                   equals_ignoring_case(option, "local"));
}

bool is_unbound(std::string_view text) {
  std::string_view rest = text;
  const std::string_view option = trim(next_part(rest, ':'));
  if (option.size() == text.size() || rest.starts_with("//")) return false;
  if (starts_ignoring_case(option, "local-zone") || starts_ignoring_case(option, "local-data")) return true;
  return equals_ignoring_case(option, "server") && (rest.empty() || is_blank(rest.front()));
}

// "0.0.0.0 whatever", "192.0.2.53 a.example"; what else stands behind an address is not a host name.
bool is_hosts(std::string_view text) {
  const std::string_view first = next_word(text);
  if (text.empty() || !is_address(first)) return false;
  return is_sink(first) || is_dotted_name(next_word(text));
}

// An address or a range of addresses, and columns behind it: counts, countries, dates, other addresses.
bool has_columns(std::string_view text) {
  const std::string_view first = next_word(text);
  if (text.empty() || text.find("://") != std::string_view::npos) return false;
  return is_address(first) || read_address_range(first).outcome != RangeReading::Outcome::no_range;
}

LineShape url_shape(std::string_view text) {
  if (!scheme_of(text).empty()) return LineShape::url;
  const bool listed = text.front() == '"' || text.find(',') != std::string_view::npos;
  if (listed && text.find("://") != std::string_view::npos) return LineShape::csv;
  if (is_csv_header(text)) return LineShape::csv_header;
  const std::string_view host = text.substr(0, text.find('/'));
  const bool path = host.size() < text.size() && host.find('.') != std::string_view::npos;
  return path && host.find_first_of(" \t") == std::string_view::npos ? LineShape::url_no_scheme : LineShape::other;
}

}  // namespace

bool may_be_pattern(LineShape shape, std::string_view line) {
  const std::string_view text = without_comment(trim(line), kListMarks);
  if (shape == LineShape::wildcard) return !ends_in_known_top_level(text);
  if (shape != LineShape::url) return false;
  return text.find_first_of("*^|") != std::string_view::npos || !split_adblock_rule(text).modifiers.empty();
}

LineShape shape_of(std::string_view line) {
  const bool indented = !line.empty() && is_blank(line.front());
  std::string_view text = trim(line);
  if (text.empty()) return LineShape::empty;
  if (const LineShape comment = comment_shape(text); comment != LineShape::other) return comment;
  // What a comment says of an entry is no part of its shape; within the quotes of a table there is none.
  if (text.front() != '"') text = without_glued_comment(without_comment(text, kListMarks));
  if (is_adblock_title(text)) return LineShape::adblock_title;
  if (is_privoxy(text)) return LineShape::privoxy;
  if (is_unbound(text)) return LineShape::unbound;
  if (is_dnsmasq(text)) return LineShape::dnsmasq;
  if (read_address_range(text).outcome != RangeReading::Outcome::no_range ||
      read_netblock(text).outcome == RangeReading::Outcome::range ||
      read_p2p_range(trim(line)).outcome != RangeReading::Outcome::no_range) {
    return LineShape::range;
  }
  if (is_hosts(text)) return LineShape::hosts;
  if (const LineShape zone = zone_shape(text); zone != LineShape::other && !indented) return zone;
  if (has_columns(text)) return LineShape::columns;
  if (is_adblock_host(text)) return LineShape::adblock_host;
  if (is_adblock(text) && scheme_of(text).empty() && text.front() != '"') return LineShape::adblock;
  if (const LineShape url = url_shape(text); url != LineShape::other) return url;
  return text.starts_with("*.") ? LineShape::wildcard : LineShape::other;
}

}  // namespace bloomwall::filter
