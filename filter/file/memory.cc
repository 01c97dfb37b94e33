// SPDX-License-Identifier: Apache-2.0
#include "filter/file/memory.h"

#include <algorithm>

#include "filter/file/residence.h"

namespace bloomwall::filter {

std::uint64_t available_ram() {
  const MemoryFacts facts = memory_facts();
  return std::min(facts.available, facts.left_in_group);
}

std::uint64_t default_ram_budget() {
  constexpr std::uint64_t kLeastReserve = std::uint64_t{64} << 20;
  const std::uint64_t free = available_ram();
  return free - std::min(free, std::max(free / 8, kLeastReserve));
}

}  // namespace bloomwall::filter
