// Watches the files that are served themselves, not from copies: one that was written to, truncated or failed is lost
// (its on_error decides), which is reported once, and a reload is requested as soon as the file at its path stops
// changing. Not thread-safe; one system call per such file and call.
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
#include "proxy/decision/group_policies.h"

namespace bloomwall::proxy {

// The period of the daemon's checks: an overwritten file gives wrong answers for no longer than this.
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

// "a, b": lost filters whose on_error blocks every request, of a group at least where there are groups. Empty: none.
std::string lost_and_blocking(const filter::Policy& policy, const GroupPolicies* groups = nullptr);
// What stays served after a failed reload, one line each: which copies still are as they were verified, and which
// filters are lost. `damaged`: files whose bytes were found to be wrong; where one of them is what a filter is served
// from, that filter is lost from now on.
std::vector<std::string> served_on(const filter::Policy& policy, std::uint64_t generation,
                                   const std::vector<std::filesystem::path>& damaged);

}  // namespace bloomwall::proxy
