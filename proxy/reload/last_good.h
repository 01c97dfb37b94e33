// The last good files of each filter: what was served last of it (base, delta, exact side, what its lists except), kept
// in state_dir, so that a start can serve it where the files that are configured cannot be: one is missing or damaged,
// a delta does not fit its base, something is not signed or older than what was served before. A reload does not use
// it, since what is served stays in use then; nor does an upgrade.
//   STATE_DIR/last_good/filter.NAME/served      JSON: which files these are, and where they came from
//                                  HEADER.bwf   by the SHA-256 of the header, which has the digests of all bytes
//                                  ROOT.bwx, ID.delta, and the .allow file of each (list_exceptions.h)
// Cost: none where nothing has changed. The base is the private copy that is served, which gets a name (kept_file.h):
// it takes no more room, and is synced once. Deltas, and bases of up to 64 MiB that have no such copy, are copied. A
// larger one, for which there was no room, is not: the record names the file in its place, which serves with the delta
// that is kept as long as it has the same header.
// Never served: what was kept for other paths than are configured now (another filter), or what the load refuses: it is
// verified as any file is, against the keys and the sequences of now.
// A process that is killed between any two steps leaves the former files or the new ones: files have names of their
// own, and the record is replaced at once, before those that it does not name are removed.
// Not thread-safe. Blocking.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.h"
#include "filter/policy/policy.h"
#include "filter/result.h"

namespace bloomwall::proxy {

class LastGood {
 public:
  // In this state folder; empty, or no folder: nothing is kept.
  explicit LastGood(std::filesystem::path state_folder);

  struct Found {
    filter::FilterFiles files;
    std::int64_t since = 0;  // when they were served first, seconds since 1970
  };
  // Nothing where none are kept of a filter with these paths, or they are not there any more.
  std::optional<Found> find(const conf::Filter& filter) const;

  // Keeps what this policy serves, except of filters that serve the last good files already, and forgets filters that
  // it does not have. Before the sequences are recorded (rollback_protection.h), so that what is kept is never older.
  struct Outcome {
    std::map<std::string, std::int64_t> since;  // by filter; those without last good files are not in it
    std::vector<std::string> warnings;          // what could not be kept; what was kept before still is
  };
  // `may_take`: told before each filter how many octets may have to be synced.
  using MayTake = std::function<void(std::uint64_t bytes)>;
  Outcome keep(const filter::Policy& policy, const MayTake& may_take = {}) const;

 private:
  std::filesystem::path folder_of(const std::string& filter) const;
  filter::Result<std::int64_t> keep(const filter::Policy::FilterState& state) const;

  std::filesystem::path folder_;  // empty: nothing is kept
};

}  // namespace bloomwall::proxy
