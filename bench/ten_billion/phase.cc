// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/phase.h"

#include <sys/resource.h>

#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

namespace bloomwall::bench {
namespace {

// "name: number", as /proc writes it; 0 where it is not there.
std::uint64_t number_in(const char* file, std::string_view name) {
  std::ifstream in(file);
  for (std::string word; in >> word; in.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    std::uint64_t value = 0;
    if (word == name && in >> value) return value;
  }
  return 0;
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

Phase::Phase(std::string name) : started_(std::chrono::steady_clock::now()) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the high-water mark of resident memory begins anew
  begin_.name = std::move(name);
  begin_.cpu_seconds = cpu_seconds();
  begin_.disk_read = number_in("/proc/self/io", "read_bytes:");
  begin_.disk_written = number_in("/proc/self/io", "write_bytes:");
}

PhaseCost Phase::end() const {
  PhaseCost cost = begin_;
  cost.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  cost.cpu_seconds = cpu_seconds() - begin_.cpu_seconds;
  cost.peak_resident = number_in("/proc/self/status", "VmHWM:") * 1024;
  cost.disk_read = number_in("/proc/self/io", "read_bytes:") - begin_.disk_read;
  cost.disk_written = number_in("/proc/self/io", "write_bytes:") - begin_.disk_written;
  return cost;
}

}  // namespace bloomwall::bench
