// lists.json in update.folder: what became of each list and of each filter that is made of lists. Written by
// `bloomwall update` alone, under its lock, whole or not at all; read by the running proxy for metrics and the API, and
// by `bloomwall why` to find the copies.
//   {"version":1,"filters":[{"filter":"ads","result":"built",...,"sources":[{"url":"https://...","copy":"...",...}]}],
//    "intermediates":{...}}     likewise, where there are any
// Times are seconds since 1970; 0: never.
// Limits: 16 MiB, 4096 filters, 64 lists each; texts are cut at kMostStateText. What breaks them, or has a copy that is
// not the name of a file, is refused as a whole.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace bloomwall::proxy {

inline constexpr std::size_t kMostStateBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostStateText = 4096;
inline constexpr const char* kListsFile = "lists.json";

// What became of the last request for a list.
enum class FetchResult : std::uint8_t { none, updated, unchanged, failed, refused };
inline constexpr std::array kFetchResults{FetchResult::updated, FetchResult::unchanged, FetchResult::failed,
                                          FetchResult::refused};
const char* to_string(FetchResult result);

// What became of the last attempt to make a filter.
enum class BuildResult : std::uint8_t { none, built, unchanged, failed, refused };
const char* to_string(BuildResult result);

struct SourceState {
  std::string url = {};   // or the path
  std::string copy = {};  // the last good copy: a file in copies_of(); empty: there is none
  std::string etag = {};  // of that copy, as the server gave them
  std::string last_modified = {};
  std::string sha256 = {};     // of that copy as it was fetched, hexadecimal
  std::string read_as = {};    // the options it was read with: text_of_reading(); empty: the usual ones
  std::uint64_t entries = 0;   // of that copy
  std::uint64_t rules = 0;     // its lines that are neither blank nor comments
  std::uint64_t unusable = 0;  // of these
  std::string loss = {};       // what of it is not taken, for people: loss_text()
  std::uint64_t bytes = 0;     // as unpacked
  std::int64_t expires = 0;    // seconds for which it asks not to be fetched again; 0: it does not say
  FetchResult result = FetchResult::none;
  std::string guard = {};                                    // which one refused it
  std::string message = {};                                  // why it failed or was refused; or a warning
  std::int64_t checked = 0;                                  // the last request
  std::int64_t succeeded = 0;                                // the last that was updated or unchanged
  std::int64_t changed = 0;                                  // when the copy was taken
  std::int64_t due = 0;                                      // not asked before
  bool is_told = false;                                      // `due` is what the server asked for
  std::uint32_t failures = 0;                                // one after the other
  std::array<std::uint64_t, kFetchResults.size()> counts{};  // of results since the beginning, by kFetchResults
  friend bool operator==(const SourceState&, const SourceState&) = default;
};

struct ListFilterState {
  std::string filter = {};
  std::vector<SourceState> sources = {};  // in the order of the configuration
  BuildResult result = BuildResult::none;
  std::string guard = {};
  std::string message = {};
  std::int64_t attempted = 0;    // the last build
  std::int64_t built = 0;        // the last that succeeded
  std::uint64_t entries = 0;     // distinct ones, of the file that was built last
  std::uint64_t exceptions = 0;  // of its lists, that free what it stops
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;
  double seconds = 0;                     // the last update of it, with fetches
  std::vector<std::string> made_of = {};  // copies that the file was built from
  std::string made_with = {};             // and the settings: FilterUpdate's
  bool is_untold = false;                 // the file was, or may have been, replaced and no proxy has reloaded since
  std::int64_t forced = 0;                // when guards were overruled last
  std::string forced_by = {};             // "uid 0 (root)"
  friend bool operator==(const ListFilterState&, const ListFilterState&) = default;

  SourceState* find(std::string_view url);
};

struct ListsState {
  std::vector<ListFilterState> filters = {};
  ListFilterState intermediates = {};  // of tls_inspection.verify.intermediates: intermediates_update.h
  friend bool operator==(const ListsState&, const ListsState&) = default;

  const ListFilterState* find(std::string_view filter) const;
  ListFilterState& at(std::string_view filter);  // made where it was not there
};

tl::expected<ListsState, std::string> parse_lists_state(std::string_view json);
std::string lists_state_text(const ListsState& state);

// No file: an empty state.
tl::expected<ListsState, std::string> read_lists_state(const std::filesystem::path& folder);
tl::expected<void, std::string> write_lists_state(const std::filesystem::path& folder, const ListsState& state);

// Where the copies of a filter's lists are.
std::filesystem::path copies_of(const std::filesystem::path& folder, std::string_view filter);
std::filesystem::path copies_of_intermediates(const std::filesystem::path& folder);

// The newest time at which each of its lists was asked for with success: of the one that is behind most. 0: some list
// never was.
std::int64_t fresh_at(const ListFilterState& filter);

}  // namespace bloomwall::proxy
