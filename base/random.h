// Random octets that nobody can guess, from the kernel: keys, secrets, identifiers.
//
// Errors, by one rule: std::runtime_error where the kernel gives none. That is where it has no getrandom(2) or a
// sandbox forbids it, and then so from the first call on; the first of the proxy is before it serves. A loaded machine
// does not run out of them. While a machine starts, the first call waits until the kernel has gathered enough.
// Any thread. Callbacks of OpenSSL, which nothing may be thrown through, take RAND_bytes themselves (proxy/tls).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace bloomwall {

void fill_random(std::span<std::uint8_t> octets);

template <typename T>
T random_value() {
  static_assert(std::is_trivially_copyable_v<T>);
  std::array<std::uint8_t, sizeof(T)> octets{};
  fill_random(octets);
  T value{};
  std::memcpy(&value, octets.data(), sizeof value);
  return value;
}

}  // namespace bloomwall
