// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/wildcard_name.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <new>

namespace bloomwall::proxy {
namespace {

// Whoever knew it could have a certificate for it, where anybody gets a name under the same parent.
std::string random_label() {
  std::array<unsigned char, 24> octets{};
  if (RAND_bytes(octets.data(), static_cast<int>(octets.size())) != 1) throw std::bad_alloc();
  return fmt::format("w{:02x}", fmt::join(octets, ""));
}

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
