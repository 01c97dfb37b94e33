// Cryptographically secure random octets, from the kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/random.h>

#include <stdexcept>
#include <type_traits>

namespace bloomwall::proxy {

// Throws std::runtime_error where there are none. At most 256 octets: fewer than asked for are never given then.
template <typename T>
T random_value() {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 256);
  T value{};
  if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    throw std::runtime_error("getrandom: the system gives no random octets");
  }
  return value;
}

}  // namespace bloomwall::proxy
