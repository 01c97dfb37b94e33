// The counting form of a filter (.bwc): made from lists, changed by lists in place of a rebuild, and turned into the
// .bwf that proxies load. It is four times as large and stays on the machine that builds.
// A file is never changed in place: an update writes a new one beside it from the old one's counters, and renames it. A
// journal would be no cheaper: a change of some ten thousand entries touches every page of a file for 10^8 entries, and
// the digest of every leaf that was touched has to be made again. Readers of the old file keep a complete one.
// What its lists except (list_exceptions.h) stands beside it and is changed with it, each once, however many lists have
// it: it goes with the first of them that is removed.
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
#include "filter/policy/list_exceptions.h"
#include "filter/update/cell_store.h"
#include "filter/update/changes.h"

namespace bloomwall::filter {

struct CountingReport {
  std::vector<IngestedFile> files;
  Header header;  // as written
  CellTally added, removed;
  CellCounts cells;           // of all sections, as written
  ListExceptions exceptions;  // beside the file, and beside what is emitted from it
  std::vector<std::string> warnings;
};

// `build --counting`: reads every list twice (to size, to count), so stdin can't be one. Of the options these are used:
// output, lists, read, raw, category, target, identity, allow_unsupported, ram_bytes, threads, stop. Errors: as
// build().
Result<void> build_counting(const BuildOptions& options, CountingReport& report);

// The cost of removing what was never added. Such a removal tests positive at the error of one question, and then
// decrements each cell; a cell that counted one key loses that key.
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
// Removes first, then adds. What was added twice must be removed twice. Error `limit` where there is something to
// remove without `force`; the report then has the risk.
struct CountingUpdateReport : CountingReport {
  RemovalRisk risk;
};
Result<void> update_counting(const CountingUpdate& update, CountingUpdateReport& report);

// Writes the filter that the counters stand for. Its series, sequence and time are the counting file's, its file id is
// made of that file's id and sequence: the same counters give the same bytes. A file of the same series with a higher
// sequence is not replaced. No entries are looked up in the file: there is no list.
struct EmitOptions {
  std::filesystem::path file, output;
  std::optional<FileId> file_id = {};
  std::optional<std::uint64_t> created = {};
  FileAccess access = {};
};
Result<Header> emit_filter(const EmitOptions& options);

// Puts what is excepted beside a counting file that is in its place, and removes what is there of others before it.
Result<void> write_counting_exceptions(const std::filesystem::path& file, const Header& header,
                                       const ListExceptions& exceptions, const FileAccess& access);

// Of a whole counting file.
CellCounts cells_of(const FilterFile& counting, SectionType type);

}  // namespace bloomwall::filter
