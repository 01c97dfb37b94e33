// Looks at the files that filters are served from themselves, not from copies of their own: one that was written to,
// cut or failed is lost (its on_error decides), which is said once, and asks for a reload as soon as the file under its
// name is still. Not thread-safe; one system call for each such file a look.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "filter/file/mapped_file.h"
#include "filter/policy/policy.h"

namespace bloomwall::proxy {

// Between two looks of the daemon: what was written over answers wrongly for no longer.
inline constexpr std::chrono::milliseconds kFileWatchPeriod{400};

class FileWatch {
 public:
  struct Seen {
    std::vector<std::string> errors;  // one a file that is lost since the last look
    bool reload_wanted = false;
  };
  // `generation` tells one policy from the next.
  Seen look(const filter::Policy& policy, std::uint64_t generation);

 private:
  struct Lost {
    std::optional<filter::FileStamp> seen;   // under its name, at the last look
    std::optional<filter::FileStamp> tried;  // when a reload was last asked for
  };
  void note(const std::filesystem::path& file, Seen& out);
  std::uint64_t generation_ = 0;
  std::map<std::filesystem::path, Lost> lost_;
};

// "a, b": lost filters whose on_error blocks every request. Empty: none.
std::string lost_and_blocking(const filter::Policy& policy);
// What stays served after a failed reload, one line each: which copies still are as they were verified, and which
// filters are lost. `damaged`: files whose bytes were found to be wrong; where one of them is what a filter is served
// from, that filter is lost from now on.
std::vector<std::string> served_on(const filter::Policy& policy, std::uint64_t generation,
                                   const std::vector<std::filesystem::path>& damaged);

}  // namespace bloomwall::proxy
