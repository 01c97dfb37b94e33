// The counting form of a filter (.bwc): made from lists, changed by lists in place of a rebuild, and turned into the .bwf
// that is asked. It is four times as large, is never asked itself, and stays with whoever builds.
// A file is never changed in place: an update writes a new one beside it from the old one's counters, and renames. A journal
// would be no cheaper: a change of some ten thousand entries touches every page of a file for 10^8, and each leaf's
// digest has to be made again whatever was touched; so reading and writing it once is the least that can be done, and
// whoever has the old one open keeps a whole one.
// Memory: of `build`, the keys (as the builder in RAM: key_collector.h); of the others none but the page cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "filter/bits/counters.h"
#include "filter/builder/builder.h"
#include "filter/file/filter_file.h"
#include "filter/update/cell_store.h"
#include "filter/update/changes.h"

namespace bloomwall::filter {

struct CountingReport {
  std::vector<FileIntake> files;
  Header header;  // as written
  CellTally added, removed;
  CellCounts cells;  // of all sections, as written
  std::vector<std::string> warnings;
};

// `build --counting`: reads every list twice (to size, to count), so stdin can't be one. Of the options these are used:
// output, lists, read, raw, category, target, identity, allow_unsupported, ram_bytes, threads, stop. Errors: as build().
Result<void> build_counting(const BuildOptions& options, CountingReport& report);

// What removing what was never added would cost. Such a removal passes for there at the error of one question, and then takes
// one from each cell; a cell that held one key alone loses that key.
struct RemovalRisk {
  std::uint64_t listed = 0, not_there = 0;  // of the removals asked for
  double passes = 0;                        // chance that a removal of what was never added is carried out
  double loss = 0;                          // entries lost by each that is
  double expected_loss() const;             // were all of the removals of things never added
};

struct CountingUpdate {
  std::filesystem::path file;
  ChangeLists lists;
  bool force = false;  // remove although nothing can vouch that it was added
  std::optional<std::uint64_t> created = {};
  FileAccess access = {};
  unsigned threads = 0;
  const std::atomic<bool>* stop = nullptr;
};
// Removes first, then adds. What was added twice is there until it was removed twice. Error `limit` where there is something
// to remove and not `force`: the report's risk says what for.
struct CountingUpdateReport : CountingReport {
  RemovalRisk risk;
};
Result<void> update_counting(const CountingUpdate& update, CountingUpdateReport& report);

// Writes the filter that the counters stand for. Its series, sequence and time are the counting file's, its file id is made
// of that file's id and sequence: the same counters give the same bytes. A file of the same series with a higher sequence is
// not replaced. What the counters were made of is not at hand, so nothing asks the file for its entries.
struct EmitOptions {
  std::filesystem::path file, output;
  std::optional<FileId> file_id = {};
  std::optional<std::uint64_t> created = {};
  FileAccess access = {};
};
Result<Header> emit_filter(const EmitOptions& options);

// Of a whole counting file.
CellCounts cells_of(const FilterFile& counting, SectionType type);

}  // namespace bloomwall::filter
