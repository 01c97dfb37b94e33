// What `bloomwall-filter release` does to the folder of an origin (origin_folder.h). Numbers of releases and sequences
// of rings only grow, so that a gateway can tell an older text from a newer one; going back is a new number with the
// parts of an old release.
// Every text that is there must be signed by one of the keys given: nobody else's is signed again unseen. To change
// keys, publish with the old one and the new one until each ring and its release bear both; then with the new one.
// Order: files, release, rings; an error leaves the rings as they were (of several, those that were not reached).
// Errors: those of the folder; `limit` where the guards refuse, with the guard in `where`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "filter/release/origin_folder.h"
#include "filter/release/release_guards.h"
#include "filter/update/changes.h"

namespace bloomwall::filter {

inline constexpr const char* kEveryRing = "all";  // the ring that guards compare with, and that most gateways have
inline constexpr std::uint64_t kMostUrgent = 1000;
inline constexpr std::uint64_t kValidFor = std::uint64_t{7} * 86400;  // seconds

struct ReleaseTarget {
  const OriginFolder& folder;
  const std::vector<SigningKey>& keys;  // at least one
  std::uint64_t now = 0;                // seconds since 1970
  std::uint64_t valid_for = kValidFor;  // seconds
};

struct Publication {
  std::filesystem::path base, exact;  // a new filter; empty: the one that the ring has
  bool carry = false;                 // with a new filter: what the delta before has added stays added
  ChangeLists lists;                  // or what to change of the one that the ring has
  std::string ring = "canary";
  ReleaseGuards guards;
  // To every ring at once, each on top of what it has; of the guards must_pass alone is asked. Additions alone, at most
  // kMostUrgent. It says why, in the delta.
  std::optional<std::string> urgent_why = {};
  Progress progress = {};
};

struct PublishedRing {
  std::string ring;
  std::uint64_t release = 0, sequence = 0;
};
struct PublishReport {
  std::vector<ReleaseText> releases;  // that were made
  std::vector<PublishedRing> rings;   // that were changed
  std::vector<std::string> notes;
};

Result<PublishReport> publish(const ReleaseTarget& target, const Publication& publication);

// The parts of that release under the next number, to these rings; none: to every ring.
Result<PublishReport> reissue(const ReleaseTarget& target, std::uint64_t release,
                              const std::vector<std::string>& rings);

// A later end and the next sequence, for these rings; none: for every ring.
Result<PublishReport> renew(const ReleaseTarget& target, const std::vector<std::string>& rings);

// Removes all releases but the last `keep` and those that a ring names, and all files that none of those left names.
// Returns what it removed. A text among those left that cannot be read is an error, and nothing is removed.
Result<std::vector<std::string>> prune(const OriginFolder& folder, const TextOpener& open, std::size_t keep);

}  // namespace bloomwall::filter
