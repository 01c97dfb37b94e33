// Figures of this process from /proc/self; zero where one is missing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace bloomwall::proxy {

struct ProcessFacts {
  double cpu_seconds = 0;
  double start_seconds = 0;  // since 1970
  std::uint64_t resident_bytes = 0, anonymous_bytes = 0;
  std::uint64_t open_descriptors = 0, most_descriptors = 0;
};
ProcessFacts read_process_facts();

}  // namespace bloomwall::proxy
