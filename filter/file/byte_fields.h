// Inside filter/file: fields of sections, one after the other. They are little-endian and written as they lie in
// memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace bloomwall::filter {

static_assert(std::endian::native == std::endian::little, "fields are written as they lie in memory");

template <typename T>
void put(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// Takes from the front what is there; the caller has looked at the size.
template <typename T>
T take(std::span<const std::byte>& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

}  // namespace bloomwall::filter
