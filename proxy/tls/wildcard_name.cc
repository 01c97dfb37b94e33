// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/wildcard_name.h"

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/random.h"

namespace bloomwall::proxy {
namespace {

// Whoever knew it could have a certificate for it, where anybody gets a name under the same parent.
std::string random_label() { return "w" + to_hex(random_value<std::array<std::uint8_t, 24>>()); }

bool is_label_octet(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

std::optional<std::string> stand_in_for_wildcard(std::string_view host) {
  static const std::string label = random_label();
  const std::size_t dot = host.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view first = host.substr(0, dot);
  if (first.find('_') == std::string_view::npos || !std::ranges::all_of(first, is_label_octet)) return std::nullopt;
  return label + std::string(host.substr(dot));
}

}  // namespace bloomwall::proxy
