// Where the bytes of a served filter are, and what that means for a question to it. Decided once, when the file is
// opened to be served, by what fits:
//   resident  mapped and read in before use, in huge pages where the file system has large folios. The kernel may take
//             pages back under pressure; a question then waits for the disk, which is rare by the margin that is kept
//   locked    the same, and the kernel may not
//   copied    an anonymous copy in huge pages, for file systems without large folios (Linux before 6.7 on ext4)
//   paged     too large: host section (and all other small ones) read in and locked where the system lets us, the rest
//             read page by page as questions come, without read-ahead. A question may wait for the disk: see
//             may_wait(). On a file system that can't say what is in memory (tmpfs, ZFS, NFS) that holds of the first
//             question to a page
//   unmanaged mapped, and nothing done about it: commands that look at a file for a moment
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

#include "filter/result.h"

namespace bloomwall::filter {

enum class MemoryUse : std::uint8_t { automatic, paged, locked, copied };  // what is asked for
enum class Residence : std::uint8_t { unmanaged, resident, locked, copied, paged };
const char* to_string(Residence residence);

struct MemoryFacts {
  std::uint64_t total = 0;      // of the machine, or of the control group where that is less
  std::uint64_t available = 0;  // could be used without anybody else giving anything up but cached files
  // What the limit of our control group leaves when its cached files count as used; the largest number without a limit.
  std::uint64_t left_in_group = std::numeric_limits<std::int64_t>::max();
};
MemoryFacts memory_facts();

// automatic: resident where the file and a quarter more are available, else paged. locked and copied hold two files
// while one replaces the other, so twice the size must fit into memory, and the file into what is available: else error
// `limit`.
Result<Residence> choose_residence(MemoryUse use, std::uint64_t file_bytes, const MemoryFacts& memory,
                                   const std::filesystem::path& path);

}  // namespace bloomwall::filter
