// SPDX-License-Identifier: Apache-2.0
#include "filter/file/residence.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "base/names.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;  // "max" is no number
}

// The tightest limit of a control group (version 2) on the way from ours to the root.
void apply_group_limits(MemoryFacts& facts) {
  std::ifstream self("/proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::string group = line.substr(3); !group.empty() && group != "/"; group.erase(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const std::uint64_t most = number_in(folder + "/memory.max", kUnlimited);
      if (most == kUnlimited) continue;
      std::uint64_t used = number_in(folder + "/memory.current", 0);
      facts.left_in_group = std::min(facts.left_in_group, most - std::min(most, used));
      // What the group holds of files can be given up for another.
      std::ifstream stat(folder + "/memory.stat");
      std::string name;
      for (std::uint64_t bytes = 0; stat >> name >> bytes;) {
        if (name == "inactive_file" || name == "active_file") used -= std::min(used, bytes);
      }
      facts.total = std::min(facts.total, most);
      facts.available = std::min(facts.available, most - std::min(most, used));
    }
  }
}

Error does_not_fit(const std::filesystem::path& path, std::uint64_t wanted, const char* what, std::uint64_t there) {
  constexpr double kGigabyte = 1e9;
  return {Errc::limit, path.string(),
          fmt::format("needs {:.1f} GB of {} memory and there are {:.1f} GB; let memory be auto or paged",
                      static_cast<double>(wanted) / kGigabyte, what, static_cast<double>(there) / kGigabyte)};
}

}  // namespace

const char* to_string(Residence residence) {
  static constexpr auto kWords = name_table<Residence>({{Residence::unmanaged, "unmanaged"},
                                                        {Residence::resident, "resident"},
                                                        {Residence::locked, "locked"},
                                                        {Residence::copied, "copied"},
                                                        {Residence::paged, "paged"}});
  return kWords.text(residence);
}

MemoryFacts memory_facts() {
  MemoryFacts facts;
  const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  facts.total = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  facts.available = facts.total / 2;  // no /proc: half of what is fitted
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  for (std::string unit; meminfo >> name >> kib; std::getline(meminfo, unit)) {
    if (name == "MemAvailable:") facts.available = kib * 1024;
  }
  apply_group_limits(facts);
  return facts;
}

Result<Residence> choose_residence(MemoryUse use, std::uint64_t file_bytes, const MemoryFacts& memory,
                                   const std::filesystem::path& path) {
  const bool fits = file_bytes <= memory.available && file_bytes / 4 <= memory.available - file_bytes;
  const bool fits_twice = file_bytes <= memory.total / 2;
  switch (use) {
    case MemoryUse::automatic:
      return fits ? Residence::resident : Residence::paged;
    case MemoryUse::paged:
      return Residence::paged;
    case MemoryUse::locked:
    case MemoryUse::copied:
      if (!fits_twice) {
        return unexpected(does_not_fit(path, file_bytes > kUnlimited / 2 ? kUnlimited : 2 * file_bytes,
                                       "(for two of it, while one replaces the other)", memory.total));
      }
      if (!fits) return unexpected(does_not_fit(path, file_bytes + file_bytes / 4, "free", memory.available));
      return use == MemoryUse::locked ? Residence::locked : Residence::copied;
  }
  return Residence::paged;
}

}  // namespace bloomwall::filter
