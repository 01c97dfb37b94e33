// What `bloomwall doctor` looks at, beside the files of the configuration: this machine, and the running proxy. Facts
// alone; checks.h judges them. Blocking, no root needed: what may not be seen says so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace bloomwall::proxy {

// A folder that the service writes into.
struct FolderState {
  std::string key;  // "state_dir"
  std::filesystem::path path;
  int error = 0;                         // why it cannot be looked at, an errno; 0: it can
  bool is_writable = true;               // for `writer`
  std::string writer = {};               // the service's user, or who asks
  std::uint64_t bytes = 0, free = 0;     // of its file system; free: for the service
  std::uint64_t inodes = 0, unused = 0;  // 0: it has no such limit
};
// `user`: who writes there; -1 for whoever runs this.
FolderState look_at_folder(const std::string& key, const std::filesystem::path& path, std::optional<uid_t> user);
std::optional<uid_t> user_id(const std::string& name);  // nothing: there is no such user

struct MachineClock {
  std::int64_t now = 0;         // seconds since 1970
  bool is_synchronised = true;  // the kernel says that something keeps it right
};
MachineClock read_clock();

// The limit of open files of another process; nothing: it is not seen.
std::optional<std::uint64_t> descriptor_limit_of(int pid);

// A filter's file, as far as two of them are told apart.
struct FilterIdentity {
  std::string name, created;  // created: time_text()
  std::uint64_t sequence = 0, bytes = 0;
  bool lost = false;
  friend bool operator==(const FilterIdentity&, const FilterIdentity&) = default;
};

// What the control socket says.
struct Running {
  enum class Answer : std::uint8_t { yes, nobody, not_allowed, not_asked };
  Answer answer = Answer::not_asked;
  std::string why = {};  // why there is none
  bool is_ready = false;
  std::string readiness = {};  // /readyz in words
  int pid = 0;
  std::string configuration = {};
  std::int64_t loaded = 0;  // when what it serves was read: its start, or the last reload that succeeded
  bool has_failed_reload = false;
  std::int64_t failed_at = 0;
  std::string failure = {};  // of the last reload, where that failed
  std::vector<FilterIdentity> filters = {};
  struct Fallback {
    std::string filter, why;
  };
  std::vector<Fallback> fallbacks = {};  // filters that serve their last good files, and what is wrong with their own
};
// From /api/v1/status, /filters and /reloads. What is missing stays as it is.
void take_status(const nlohmann::ordered_json& status, Running& running);
void take_filters(const nlohmann::ordered_json& filters, Running& running);
void take_reloads(const nlohmann::ordered_json& reloads, Running& running);

}  // namespace bloomwall::proxy
