// Loads an edition from a configuration file: reads, opens and verifies everything it names. Shared by `run`, `check`
// and reloads. Takes as long as the filters take to read; touches no socket.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "filter/policy/filter_store.h"
#include "filter/policy/policy.h"
#include "proxy/decision/snapshot.h"
#include "proxy/reload/rollback_protection.h"

namespace bloomwall::proxy {

class LastGood;
enum class RefusalReason : std::uint8_t;  // refusal_reason.h

inline constexpr int kExitDone = 0;
inline constexpr int kExitRefused = 1;         // blocked, corrupt, refused
inline constexpr int kExitError = 2;           // usage or runtime error; a file that is missing may appear
inline constexpr int kExitConfiguration = 78;  // EX_CONFIG: will be wrong next time too

struct LoadFailure {
  int status = kExitError;
  std::vector<std::string> lines;                   // every error, one a line, each with its file
  std::vector<std::filesystem::path> damaged = {};  // filters whose bytes do not match their digests
  std::vector<RefusalReason> reasons = {};          // each once
};
template <typename T>
using Loaded = tl::expected<T, LoadFailure>;

// "bloomwall: text" for each, control octets shown as \xNN.
void print_lines(std::ostream& err, const std::vector<std::string>& lines);

// `named` empty: the default file, else the built-in defaults.
Loaded<conf::Config> load_settings(const std::filesystem::path& named);
// As if `file` stood at `place`: what that belongs to, or `main` where that is not empty.
Loaded<conf::Config> load_settings_in_place(const std::filesystem::path& file, const std::filesystem::path& place,
                                            const std::filesystem::path& main = {});

// The message that there is no file and the built-in defaults apply; nothing where there is one.
std::optional<std::string> built_in_defaults(const std::filesystem::path& named);

// The path of `named`, absolute and without links: it identifies an instance.
std::filesystem::path configuration_file(const std::filesystem::path& named);

// Reads the sequences that were accepted before from the state folder. If they can't be read: an error if a filter has
// a public key, because an older file could not be refused then; else a warning, and no records.
Loaded<RollbackProtection> load_sequences(const conf::Config& settings, std::vector<std::string>& warnings);

struct PolicyLoading {
  bool verify = true;
  bool make_resident = false;  // bring each filter where its `memory` says: to serve it
  bool own_copies = false;     // and serve copies, large ones from the state folder
  // Progress of reading a filter: its file, its bytes so far and in all. False stops the load.
  std::function<bool(const std::filesystem::path&, std::uint64_t done, std::uint64_t total)> progress = {};
  const RollbackProtection* accepted = nullptr;  // the rollback protection to check against; null: none
  std::vector<std::string>* warnings = nullptr;  // where to say what is served all the same
  SnapshotPtr running = nullptr;                 // what a reload replaces; null: nothing is served yet
  filter::FilterStore* store = nullptr;          // files it holds are not loaded again; null: all are loaded
  // Where a start finds what it serves of a filter whose own files are refused; null: the load is refused, too.
  const LastGood* last_good = nullptr;
};
filter::PolicySpec policy_spec(const conf::Config& settings);
Loaded<std::shared_ptr<const filter::Policy>> load_policy(const conf::Config& settings, const PolicyLoading& loading);
Loaded<Edition> load_edition(const conf::Config& settings, const PolicyLoading& loading, std::uint64_t generation);

// Of filters that serve their last good files: as if the load had been refused because of their own, with a line more
// for each that says so. Status 0: there are none.
LoadFailure fallbacks_of(const filter::Policy& policy, const conf::Config& settings, const LastGood& last_good);
// "malware, ads": those. Empty: none.
std::string names_of_fallbacks(const filter::Policy& policy);

// "filter malware: 25.0 GB, paged, its host section locked in memory", one line each.
std::vector<std::string> describe_memory(const filter::Policy& policy);
// "2 filters (5,000,000 entries), 12 allow entries": for logs.
std::string describe(const filter::Policy& policy);
std::uint64_t entries_of(const filter::Policy::FilterState& state);  // distinct ones

}  // namespace bloomwall::proxy
