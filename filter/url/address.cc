// SPDX-License-Identifier: Apache-2.0

#include "filter/url/address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/text.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t size_of(HostKind kind) { return kind == HostKind::ipv4 ? 4 : 16; }

Ipv6Groups groups_of(std::span<const std::uint8_t, 16> octets) {
  Ipv6Groups groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = static_cast<std::uint16_t>((octets[2 * i] << 8) | octets[2 * i + 1]);
  return groups;
}

Address as_ipv6(const Ipv6Groups& groups) {
  Address address{HostKind::ipv6, {}};
  for (std::size_t i = 0; i < 16; ++i) {
    address.octets[i] = static_cast<std::uint8_t>(groups[i / 2] >> (i % 2 == 0 ? 8 : 0));
  }
  return address;
}

}  // namespace

Address address_of(std::uint32_t ipv4) {
  Address address;
  for (std::size_t i = 0; i < 4; ++i) address.octets[i] = static_cast<std::uint8_t>(ipv4 >> (24 - 8 * i));
  return address;
}

Address address_of(std::span<const std::uint8_t, 4> ipv4) {
  Address address;
  std::copy(ipv4.begin(), ipv4.end(), address.octets.begin());
  return address;
}

Address address_of(std::span<const std::uint8_t, 16> ipv6) {
  const Ipv6Groups groups = groups_of(ipv6);
  const auto ipv4 = embedded_ipv4(groups);
  return ipv4 ? address_of(*ipv4) : as_ipv6(groups);
}

std::optional<Address> read_address_as_written(std::string_view text) {
  if (const auto ipv4 = read_dotted_ipv4(text)) return address_of(*ipv4);
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  if (const auto ipv6 = read_ipv6(text)) return as_ipv6(*ipv6);
  return std::nullopt;
}

std::optional<Address> read_address(std::string_view text) {
  auto address = read_address_as_written(text);
  if (address && address->kind == HostKind::ipv6) address = address_of(address->octets);
  return address;
}

std::optional<Address> address_of(const CanonicalUrl& url) {
  if (url.host_kind == HostKind::name) return std::nullopt;
  return read_address(url.host);
}

std::uint32_t ipv4_of(const Address& address) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | address.octets[i];
  return value;
}

Address next(Address address) {
  for (std::size_t i = size_of(address.kind); i > 0 && ++address.octets[i - 1] == 0; --i) {
  }
  return address;
}

Address previous(Address address) {
  for (std::size_t i = size_of(address.kind); i > 0 && address.octets[i - 1]-- == 0; --i) {
  }
  return address;
}

std::string text_of(const Address& address) {
  std::string text;
  if (address.kind == HostKind::ipv4) {
    append_ipv4(ipv4_of(address), text);
  } else {
    append_ipv6(groups_of(address.octets), text);
  }
  return text;
}

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

std::optional<std::uint32_t> read_dotted_ipv4(std::string_view text) {
  if (text.size() > 15) return std::nullopt;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    if (!all_digits(part) || (part.size() > 1 && part[0] == '0')) return std::nullopt;
    begin = end + 1;
  }
  if (std::count(text.begin(), text.end(), '.') != 3) return std::nullopt;
  const auto reading = read_ipv4(text);
  return reading.address;
}

void append_ipv4(std::uint32_t address, std::string& out) {
  for (unsigned shift = 32; shift != 0; shift -= 8) {
    const fmt::format_int octet((address >> (shift - 8)) & 255U);
    out.append(octet.data(), octet.size());
    if (shift != 8) out.push_back('.');
  }
}

namespace {

constexpr std::size_t kLongestAddress = 45;  // "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"

struct Reader {
  Ipv6Groups groups{};
  std::size_t count = 0;
  std::optional<std::size_t> gap;  // groups before "::"
};

bool read_group(std::string_view text, Reader& reader) {
  if (text.empty() || text.size() > 4 || reader.count == 8) return false;
  unsigned value = 0;
  for (const char c : text) {
    const int digit = hex_value(c);
    if (digit < 0) return false;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  reader.groups[reader.count++] = static_cast<std::uint16_t>(value);
  return true;
}

bool read_tail_ipv4(std::string_view text, Reader& reader) {
  const auto address = read_dotted_ipv4(text);
  if (!address || reader.count > 6) return false;
  reader.groups[reader.count++] = static_cast<std::uint16_t>(*address >> 16U);
  reader.groups[reader.count++] = static_cast<std::uint16_t>(*address & 0xFFFFU);
  return true;
}

// Steps over the ':' at `at`, and over a second one, which is the gap. False: two gaps, or a lone ':' at the end.
bool step_over_colon(std::string_view text, std::size_t& at, Reader& reader) {
  ++at;
  if (at == text.size()) return false;
  if (text[at] != ':') return true;
  if (reader.gap) return false;
  reader.gap = reader.count;
  ++at;
  return true;
}

struct Run {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// The longest run of zero groups, the first of equals; RFC 5952 does not shorten a single group.
Run longest_zeros(const Ipv6Groups& groups) {
  Run best;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::size_t end = i;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - i > std::max<std::size_t>(best.size, 1)) best = {.begin = i, .size = end - i};
    i = std::max(i, end);
  }
  return best;
}

}  // namespace

std::optional<Ipv6Groups> read_ipv6(std::string_view text) {
  if (text.size() < 2 || text.size() > kLongestAddress) return std::nullopt;
  Reader reader;
  std::size_t at = 0;
  if (text[0] == ':') {
    if (text[1] != ':') return std::nullopt;
    reader.gap = 0;
    at = 2;
  }
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    const bool dotted = end == text.size() && piece.find('.') != std::string_view::npos;
    if (!(dotted ? read_tail_ipv4(piece, reader) : read_group(piece, reader))) return std::nullopt;
    at = end;
    if (at < text.size() && !step_over_colon(text, at, reader)) return std::nullopt;
  }
  if (reader.gap ? reader.count > 7 : reader.count != 8) return std::nullopt;
  if (reader.gap) {
    auto* const begin = reader.groups.data();
    std::rotate(begin + *reader.gap, begin + reader.count, begin + 8);  // what stands behind the gap goes to the end
  }
  return reader.groups;
}

std::optional<std::uint32_t> embedded_ipv4(const Ipv6Groups& groups) {
  static constexpr std::array<std::uint16_t, 6> kMapped{0, 0, 0, 0, 0, 0xFFFF};
  static constexpr std::array<std::uint16_t, 6> kNat64{0x64, 0xFF9B, 0, 0, 0, 0};
  if (!std::equal(kMapped.begin(), kMapped.end(), groups.begin()) &&
      !std::equal(kNat64.begin(), kNat64.end(), groups.begin())) {
    return std::nullopt;
  }
  return (std::uint32_t{groups[6]} << 16U) | groups[7];
}

void append_ipv6(const Ipv6Groups& groups, std::string& out) {
  const Run zeros = longest_zeros(groups);
  out.push_back('[');
  for (std::size_t i = 0; i < groups.size();) {
    if (zeros.size != 0 && i == zeros.begin) {
      out.append("::");
      i += zeros.size;
      continue;
    }
    if (i != 0 && out.back() != ':') out.push_back(':');
    fmt::format_to(std::back_inserter(out), "{:x}", groups[i]);
    ++i;
  }
  out.push_back(']');
}

}  // namespace bloomwall::filter
