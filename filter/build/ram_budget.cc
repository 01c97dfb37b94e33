// SPDX-License-Identifier: Apache-2.0
#include "filter/build/ram_budget.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::uint64_t mem_available() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  for (std::string unit; meminfo >> name >> kib; std::getline(meminfo, unit)) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  // No /proc: half of what is fitted.
  const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;  // "max" is no number
}

// The tightest limit on the way from our control group (version 2) to the root.
std::uint64_t group_available() {
  std::ifstream self("/proc/self/cgroup");
  std::uint64_t least = kUnlimited;
  for (std::string line; std::getline(self, line);) {
    if (line.rfind("0::/", 0) != 0) continue;
    for (std::string group = line.substr(3); !group.empty() && group != "/"; group.erase(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const std::uint64_t most = number_in(folder + "/memory.max", kUnlimited);
      if (most == kUnlimited) continue;
      const std::uint64_t used = number_in(folder + "/memory.current", 0);
      least = std::min(least, most > used ? most - used : 0);
    }
  }
  return least;
}

}  // namespace

std::uint64_t available_ram() { return std::min(mem_available(), group_available()); }

std::uint64_t default_ram_budget() {
  constexpr std::uint64_t kLeastReserve = std::uint64_t{64} << 20;
  const std::uint64_t free = available_ram();
  return free - std::min(free, std::max(free / 8, kLeastReserve));
}

}  // namespace bloomwall::filter
