// What a phase of the run took: wall time, CPU of all threads, peak of resident memory, bytes that went to and from
// disks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace bloomwall::bench {

struct PhaseCost {
  std::string name;
  double wall_seconds = 0, cpu_seconds = 0;
  std::uint64_t peak_resident = 0;  // of this phase alone where the kernel lets the mark be reset; file pages count
  std::uint64_t disk_read = 0, disk_written = 0;  // as the kernel accounts them to this process
};

class Phase {
 public:
  explicit Phase(std::string name);  // starts now, and starts the peak of memory anew
  PhaseCost end() const;

 private:
  PhaseCost begin_;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace bloomwall::bench
