// What of a range of memory can be given back to the kernel: madvise() rounds lengths up to pages, which are 4 KiB on
// most machines, and 16 or 64 KiB on some of arm64. Pure, any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomwall {

// The pages that lie within the range as a whole, so that nobody else's bytes are in them. Empty where there is none.
// `page`: bytes of one.
inline std::span<std::byte> whole_pages_within(std::span<std::byte> range,
                                               std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(range.data()) % page) % page;
  if (range.size() < before + page) return {};
  return range.subspan(before, (range.size() - before) / page * page);
}

}  // namespace bloomwall
