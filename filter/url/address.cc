// SPDX-License-Identifier: Apache-2.0

#include "filter/url/address.h"

#include <algorithm>
#include <cstddef>

#include "base/encoding.h"
#include "base/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kMaxParts = 4;
constexpr std::uint64_t kTooLarge = std::uint64_t{1} << 32U;  // everything from here on is the same error

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

// Decimal, 0octal, 0xhex; "0x" alone is 0. Values of 2^32 and more come out as 2^32.
std::optional<std::uint64_t> read_part(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    base = text[1] == 'x' || text[1] == 'X' ? 16 : 8;
    text.remove_prefix(base == 16 ? 2 : 1);
  }
  std::uint64_t value = 0;
  for (const char c : text) {
    const int digit = hex_value(c);
    if (digit < 0 || digit >= base) return std::nullopt;
    value = std::min(value * static_cast<unsigned>(base) + static_cast<unsigned>(digit), kTooLarge);
  }
  return value;
}

}  // namespace

Ipv4Reading read_ipv4(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);  // npos + 1 is 0
  if (!all_digits(last) && !read_part(last)) return {};
  std::uint64_t address = 0;
  for (std::size_t parts = 1, begin = 0; parts <= kMaxParts; ++parts) {
    const std::size_t dot = host.find('.', begin);
    const auto part = read_part(host.substr(begin, dot - begin));
    if (!part) break;
    if (dot == std::string_view::npos) {
      const std::uint64_t room = std::uint64_t{1} << (8U * (kMaxParts + 1 - parts));
      if (*part >= room) break;
      return {.ends_in_number = true, .address = static_cast<std::uint32_t>(address + *part)};
    }
    if (*part > 255) break;
    address += *part << (8U * (kMaxParts - parts));
    begin = dot + 1;
  }
  return {.ends_in_number = true, .address = std::nullopt};
}

std::optional<IpAddress> read_address(std::string_view text) {
  const auto address = IpAddress::parse_host(text);
  return address ? std::optional(address->destination()) : std::nullopt;
}

std::optional<IpAddress> address_of(const CanonicalUrl& url) {
  return url.host_kind == HostKind::name ? std::nullopt : read_address(url.host);
}

std::string text_of(const IpAddress& address) {
  std::string text;
  address.append_host(text);
  return text;
}

}  // namespace bloomwall::filter
