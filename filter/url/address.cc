// SPDX-License-Identifier: Apache-2.0
#include "filter/url/address.h"

#include <algorithm>
#include <cstddef>

#include "filter/url/ip_literal.h"

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

}  // namespace bloomwall::filter
