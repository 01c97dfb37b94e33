// SPDX-License-Identifier: Apache-2.0
#include "base/ip.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/encoding.h"
#include "base/text.h"

namespace bloomwall {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, 12> kNat64{0, 0x64, 0xff, 0x9b};  // and zeros
constexpr std::size_t kLongestAddress = 45;                          // "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"
constexpr std::size_t kGroups = 8;

bool begins_with(const IpAddress& address, const std::array<std::uint8_t, 12>& octets) {
  return std::equal(octets.begin(), octets.end(), address.octets.begin());
}

// Four decimal parts; false where it is anything else.
bool read_dotted(std::string_view text, std::span<std::uint8_t, 4> out) {
  for (std::size_t part = 0; part < out.size(); ++part) {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && digits < 3 && is_digit(text[digits]); ++digits) {
      value = value * 10 + static_cast<unsigned>(text[digits] - '0');
    }
    if (digits == 0 || value > 255 || (digits > 1 && text[0] == '0')) return false;
    out[part] = static_cast<std::uint8_t>(value);
    text.remove_prefix(digits);
    if (part + 1 == out.size()) break;
    if (text.empty() || text[0] != '.') return false;
    text.remove_prefix(1);
  }
  return text.empty();
}

struct GroupReader {
  IpAddress address;
  std::size_t count = 0;           // of groups
  std::optional<std::size_t> gap;  // groups before "::"
};

bool read_group(std::string_view text, GroupReader& reader) {
  if (text.empty() || text.size() > 4 || reader.count == kGroups) return false;
  unsigned value = 0;
  for (const char c : text) {
    const int digit = hex_value(c);
    if (digit < 0) return false;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  reader.address.octets[2 * reader.count] = static_cast<std::uint8_t>(value >> 8U);
  reader.address.octets[2 * reader.count + 1] = static_cast<std::uint8_t>(value & 0xffU);
  ++reader.count;
  return true;
}

bool read_dotted_tail(std::string_view text, GroupReader& reader) {
  if (reader.count > kGroups - 2) return false;
  const std::span<std::uint8_t, 4> octets(reader.address.octets.data() + 2 * reader.count, 4);
  if (!read_dotted(text, octets)) return false;
  reader.count += 2;
  return true;
}

// Steps over the ':' at `at`, and over a second one, which is the gap. False: two gaps, or a lone ':' at the end.
bool step_over_colon(std::string_view text, std::size_t& at, GroupReader& reader) {
  ++at;
  if (at == text.size()) return false;
  if (text[at] != ':') return true;
  if (reader.gap) return false;
  reader.gap = reader.count;
  ++at;
  return true;
}

std::optional<IpAddress> read_groups(std::string_view text) {
  GroupReader reader;
  std::size_t at = 0;
  if (text[0] == ':') {
    if (text[1] != ':') return std::nullopt;
    reader.gap = 0;
    at = 2;
  }
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    const bool is_dotted = end == text.size() && piece.find('.') != std::string_view::npos;
    if (!(is_dotted ? read_dotted_tail(piece, reader) : read_group(piece, reader))) return std::nullopt;
    at = end;
    if (at < text.size() && !step_over_colon(text, at, reader)) return std::nullopt;
  }
  if (reader.gap ? reader.count >= kGroups : reader.count != kGroups) return std::nullopt;
  if (reader.gap) {  // what stands behind the gap goes to the end
    auto* const begin = reader.address.octets.data();
    std::rotate(begin + 2 * *reader.gap, begin + 2 * reader.count, begin + 2 * kGroups);
  }
  return reader.address;
}

struct Run {
  std::size_t begin = 0;
  std::size_t size = 0;
};

unsigned group_at(const IpAddress& address, std::size_t group) {
  return static_cast<unsigned>(address.octets[2 * group] << 8U | address.octets[2 * group + 1]);
}

// The longest run of zero groups, the first of equals; RFC 5952 does not shorten a single group.
Run longest_zeros(const IpAddress& address) {
  Run best;
  for (std::size_t i = 0; i < kGroups; ++i) {
    std::size_t end = i;
    while (end < kGroups && group_at(address, end) == 0) ++end;
    if (end - i > std::max<std::size_t>(best.size, 1)) best = {.begin = i, .size = end - i};
    i = std::max(i, end);
  }
  return best;
}

void append_dotted(const IpAddress& address, std::string& out) {
  for (std::size_t i = 12; i < 16; ++i) {
    const fmt::format_int octet(address.octets[i]);
    out.append(octet.data(), octet.size());
    if (i != 15) out.push_back('.');
  }
}

void append_groups(const IpAddress& address, std::string& out) {
  const Run zeros = longest_zeros(address);
  for (std::size_t i = 0; i < kGroups;) {
    if (zeros.size != 0 && i == zeros.begin) {
      out.append("::");
      i += zeros.size;
      continue;
    }
    if (i != 0 && i != zeros.begin + zeros.size) out.push_back(':');
    fmt::format_to(std::back_inserter(out), "{:x}", group_at(address, i));
    ++i;
  }
}

}  // namespace

IpAddress IpAddress::v4(std::uint32_t number) {
  const std::array<std::uint8_t, 4> octets{static_cast<std::uint8_t>(number >> 24U),
                                           static_cast<std::uint8_t>(number >> 16U),
                                           static_cast<std::uint8_t>(number >> 8U), static_cast<std::uint8_t>(number)};
  return v4(octets);
}

IpAddress IpAddress::v4(std::span<const std::uint8_t, 4> octets) {
  IpAddress address;
  std::copy(kMapped.begin(), kMapped.end(), address.octets.begin());
  std::copy(octets.begin(), octets.end(), address.octets.begin() + kMapped.size());
  return address;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.size() < 2 || text.size() > kLongestAddress) return std::nullopt;
  if (text.find(':') != std::string_view::npos) return read_groups(text);
  std::array<std::uint8_t, 4> octets{};
  return read_dotted(text, octets) ? std::optional(v4(octets)) : std::nullopt;
}

std::optional<IpAddress> IpAddress::parse_host(std::string_view host) {
  if (!host.starts_with('[')) return parse(host);
  if (!host.ends_with(']') || host.find(':') == std::string_view::npos) return std::nullopt;
  return parse(host.substr(1, host.size() - 2));
}

bool IpAddress::is_v4() const { return begins_with(*this, kMapped); }

std::uint32_t IpAddress::word(std::size_t at) const {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | octets[at + i];
  return value;
}

IpAddress IpAddress::next() const {
  IpAddress result = *this;
  for (std::size_t i = octets.size(); i > 0 && ++result.octets[i - 1] == 0; --i) {
  }
  return result;
}

IpAddress IpAddress::previous() const {
  IpAddress result = *this;
  for (std::size_t i = octets.size(); i > 0 && result.octets[i - 1]-- == 0; --i) {
  }
  return result;
}

IpAddress IpAddress::masked(unsigned prefix) const {
  IpAddress result;
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned bits = std::clamp(prefix, i * 8, i * 8 + 8) - i * 8;
    result.octets[i] = static_cast<std::uint8_t>(octets[i] & (0xff00U >> bits));
  }
  return result;
}

IpAddress IpAddress::destination() const { return begins_with(*this, kNat64) ? v4(word(12)) : *this; }

std::string IpAddress::text() const {
  std::string out;
  is_v4() ? append_dotted(*this, out) : append_groups(*this, out);
  return out;
}

void IpAddress::append_host(std::string& out) const {
  if (is_v4()) return append_dotted(*this, out);
  out.push_back('[');
  append_groups(*this, out);
  out.push_back(']');
}

std::span<const std::uint8_t> IpAddress::wire_octets() const {
  return std::span(octets).subspan(is_v4() ? kMapped.size() : 0);
}

std::optional<IpNetwork> IpNetwork::parse(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string_view written = text.substr(0, slash);
  const auto address = IpAddress::parse_host(written);
  if (!address) return std::nullopt;
  const unsigned before = written.find(':') == std::string_view::npos ? kIpv4Prefix : 0;
  unsigned prefix = 128 - before;
  if (slash < text.size()) {
    const std::string_view digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size() && digits.size() <= 3;
    if (!is_number || prefix > 128 - before) return std::nullopt;
  }
  prefix += before;
  return IpNetwork{address->masked(prefix), static_cast<std::uint8_t>(prefix)};
}

std::string IpNetwork::text() const {
  return fmt::format("{}/{}", base.text(), prefix - (base.is_v4() ? kIpv4Prefix : 0));
}

}  // namespace bloomwall
