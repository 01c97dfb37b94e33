// Rollback protection: records what was accepted last of each filter, so that an older file, an older delta or the file
// of another filter is noticed. Where the filter has a public key it is refused, else it is a warning (but no warning
// for another series: each build to a new path begins one). Kept by the name of the filter in the file "sequences" of
// the state folder:
//   bloomwall-sequences 1
//   NAME SERIES-ID SEQUENCE CONTENT-ID DELTA-SEQUENCE CREATED
// a line for each content that was served under the name; the content served last is the last line. Of earlier contents
// only the highest sequence of their deltas counts: a later build of the same lists has the same content, and old
// deltas would fit it again. To roll back on purpose, remove the lines of the name, or the file, and reload. Not
// thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "filter/policy/policy.h"

namespace bloomwall::proxy {

struct Findings {
  std::vector<filter::Error> refusals;
  std::vector<std::string> warnings;
};
// Filters that are past their validity or due for a rebuild.
Findings findings_of(const filter::Policy& policy, std::chrono::system_clock::time_point now);

class RollbackProtection {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMaxRecords = 4096;
  static constexpr std::size_t kMaxContents = 16;  // of a name, with deltas; those served longest ago are forgotten

  // An empty path, or a folder without the file: no records yet. A file that can't be read or parsed is an error,
  // because its records would be lost.
  static tl::expected<RollbackProtection, std::string> load(const std::filesystem::path& folder);
  static tl::expected<RollbackProtection, std::string> parse(std::string_view text, const std::string& name);

  void check(const filter::Policy& policy, Findings& findings) const;
  void check(const filter::Policy::FilterState& state, Findings& findings) const;
  void accept(const filter::Policy& policy);
  void merge(const RollbackProtection& other);  // keeps the higher of each; ignores records of another series
  // Replaces the file atomically, and only if its contents change. A missing folder is made where `make_folder`, else
  // nothing is saved. True: the file holds all records now.
  tl::expected<bool, std::string> save(const std::filesystem::path& folder, bool make_folder) const;
  std::string text() const;
  bool empty() const { return known_.empty(); }

 private:
  struct Record {
    std::uint64_t sequence = 0;
    std::uint64_t created = 0;
    filter::FileId content{};
    std::uint64_t delta = 0;
    friend bool operator==(const Record&, const Record&) = default;
  };
  struct Known {
    filter::FileId series{};
    std::vector<Record> contents;  // never empty; the last one was accepted last
    std::uint64_t delta_of(const filter::FileId& content) const;
    friend bool operator==(const Known&, const Known&) = default;
  };
  static void raise(Known& known, const Record& other);
  void check(const filter::Policy::FilterState& state, const Known& known, Findings& findings) const;
  std::string override_hint(const std::string& name) const;
  std::map<std::string, Known> known_;  // by the name of the filter
  std::filesystem::path file_;          // where the records were loaded from; empty: there is no state folder
};

// state_dir, but $STATE_DIRECTORY, a folder made by the service manager, takes precedence over its default.
std::filesystem::path state_folder(const conf::Config& settings);
bool any_public_key(const conf::Config& settings);

}  // namespace bloomwall::proxy
