// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/word_shape.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/text.h"
#include "filter/url/address_range.h"
#include "filter/url/public_suffix.h"

namespace bloomwall::filter {
namespace {

std::optional<in6_addr> read_ipv6_word(std::string_view word) {
  if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  word = word.substr(0, word.find('%'));  // a zone, as in fe80::1%lo0
  std::array<char, INET6_ADDRSTRLEN> text;
  if (word.size() >= text.size() || word.find(':') == std::string_view::npos) return std::nullopt;
  *std::copy(word.begin(), word.end(), text.begin()) = '\0';
  in6_addr address{};
  if (inet_pton(AF_INET6, text.data(), &address) != 1) return std::nullopt;
  return address;
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
  const auto& octets = ipv6->s6_addr;
  const bool upper_zero = std::all_of(octets, octets + 15, [](std::uint8_t octet) { return octet == 0; });
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

// Top-level domains that are in use without being on the public suffix list: RFC 2606, RFC 6761, and those of networks
// of their own.
constexpr std::array<std::string_view, 11> kPrivateDomains{"example", "test", "invalid",  "localhost", "local", "lan",
                                                           "home",    "corp", "internal", "onion",     "i2p"};

bool is_hash(std::string_view text) {
  return (text.size() == 32 || text.size() == 40 || text.size() == 64) && std::all_of(text.begin(), text.end(), is_hex);
}

bool is_known_domain(std::string_view last) {
  const bool foreign =
      std::any_of(last.begin(), last.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  return foreign || is_one_of(last, kPrivateDomains) || is_top_level_domain(last);
}

bool is_port(std::string_view text) {
  return text.starts_with(':') && text.size() > 1 && text.size() <= 6 &&
         std::all_of(text.begin() + 1, text.end(), is_digit);
}

bool is_name(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return is_dotted_name(host) && is_known_domain(host.substr(host.rfind('.') + 1));
}

}  // namespace

Indicator indicator_of(std::string_view text) {
  if (!scheme_of(text).empty()) return Indicator::url;
  if (is_hash(text)) return Indicator::hash;
  if (is_address(text)) return Indicator::host;
  if (text.starts_with("*.")) text.remove_prefix(2);
  if (text.starts_with('.')) text.remove_prefix(1);
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  const std::size_t colon = authority.rfind(':');
  const bool port = colon != std::string_view::npos && is_port(authority.substr(colon));
  const std::string_view host = port ? authority.substr(0, colon) : authority;
  if (is_address(host) || is_name(host)) return Indicator::host;
  return read_address_range(text).outcome == RangeReading::Outcome::range ? Indicator::host : Indicator::none;
}

}  // namespace bloomwall::filter
