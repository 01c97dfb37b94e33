// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/indicator.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "filter/lists/address_text.h"
#include "filter/url/address_range.h"
#include "filter/url/public_suffix.h"

namespace bloomwall::filter {
namespace {

// Top-level domains that are in use without being on the public suffix list: RFC 2606, RFC 6761, and those of networks of
// their own.
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
