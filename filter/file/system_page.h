// The page of the kernel's memory management: what madvise() and friends want addresses to be multiples of. 4 KiB on
// most machines, 16 or 64 KiB on others; never to be taken for kPageBytes, which is the page of the file format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomwall::filter {

inline std::size_t system_page() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// The range, from the begin of the system's page in which it begins: for advice to the kernel.
inline std::span<std::byte> system_pages_of(std::span<const std::byte> range) {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(range.data()) % system_page();
  return {const_cast<std::byte*>(range.data() - before), range.size() + before};
}

}  // namespace bloomwall::filter
