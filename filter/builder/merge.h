// `merge`: makes one filter of several of one series and geometry, which holds what any of them holds: their bits,
// ORed. Shards, each a slice of the input built `--like` one file or with the same `--entries`, give the bytes of the
// whole build, in any order (identity pinned, sources given in the order of their names, provenance left out).
// Counts: entries add up; distinct keys come from the sketches where every input has them, else from the bits that are
// set. Ranges of addresses are united.
// Signatures belong to the inputs and are dropped; the error is measured again, as after a build.
// An exception is kept where every input has it or tests negative: then the key is not listed. Known-good URLs, where
// they are given, are tested again, for keys that test positive only in the merged bits; with the list that every shard
// was built with, the exceptions are those of the whole build.
// What the lists of any input except (list_exceptions.h, the file beside it) frees what the whole stops, as if all
// lists had been built at once: of the bits nobody knows whose they are. What important rules of any of them stop stays
// stopped.
// A source that several files name is named once. The same file twice (all of its sources are the same) is refused; so
// is, with `sources`, a source that is missing, altered or given twice. That is checked before a page is read, and
// where every input has sketches, whether the whole meets the target, too. No entry is looked up in the merged file:
// there are none.
// Memory: a few MiB a thread. Every input is read twice: first all of its digests are checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "filter/builder/ingest.h"
#include "filter/file/file_info.h"
#include "filter/file/header.h"
#include "filter/file/identity.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {

struct MergeOptions {
  std::filesystem::path output;  // may be one of the inputs
  std::vector<std::filesystem::path> inputs = {};
  std::optional<Header> like = {};           // the inputs must be of its series, options and geometry; it needs no key
  IdentityOptions identity = {};             // the series is that of the inputs
  std::vector<std::string> known_good = {};  // lists, as of a build
  UsableGate gate = {};                      // of these
  std::optional<double> fpr = {};            // must be met; default: the worst that an input was made for
  bool force = false;                        // not refused where it is not met
  std::filesystem::path sources = {};        // empty, or a list of what the inputs must be made of: source_list.h
  FileAccess access = {};
  std::optional<std::uint64_t> samples = {};  // requests to measure the error with; default: samples_for()
  bool provenance = true;                     // a line for each input in the info section
  unsigned threads = 0;                       // 0: one a processor
  const std::atomic<bool>* stop = nullptr;
};

struct MergeReport {
  Header header;  // as written
  FileInfo info;
  std::vector<std::string> notes;  // what became of exceptions
  std::vector<std::string> warnings;
};

enum class MergePhase : std::uint8_t { checking, writing, finishing };
using OnMergeProgress = std::function<void(MergePhase phase, std::uint64_t done, std::uint64_t total)>;  // bytes

// Errors: usage for inputs that do not fit each other, unmet_target, io, and those of opening and verifying a filter.
Result<void> merge(const MergeOptions& options, MergeReport& report, const OnMergeProgress& progress = {});

}  // namespace bloomwall::filter
