// `count` and `map`: read the lists of one slice of a build, as a build does (builder.h), and write what later steps
// need:
//   count   sketches, sources, ranges                                      -> .bwk, at most some 600 KB beside ranges
//   map     the same, and the records of all keys for a given geometry     -> .bwr, some 10 octets an entry
// Bytes depend on the lists, their names, the slice's number and the options that say how lists are read; not on
// threads, memory or host. A slice without a list, or with lists that hold nothing, is taken.
// Refused: what a build refuses of a list; a list that --sources does not name (of those it names any may be missing);
// another series key, other options than the geometry's; more entries than the geometry is made for, unless `force`.
// Errors: those of a build; usage; unmet_target.
// Threads, memory: options.threads; ram_bytes, of which a map takes most for records (record_store.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "filter/builder/builder.h"

namespace bloomwall::filter {

struct SliceOptions {
  // Of a build: output, lists, read, read_of, raw, query_spellings, category, known_good, identity.series_key_file,
  // most_unusable, allow_unsupported, allow_unsupported_of, sources, access, ram_bytes, threads, stop, force. `like` is
  // the geometry of a map, and empty for a count.
  BuildOptions build;
  std::uint32_t number = 0, of = 1;
  std::filesystem::path tmp_dir = {};  // for records that do not fit in memory; empty: the folder of the output
};

// The report is filled as a build's; header.file_bytes is the size of what was written.
Result<void> write_slice(const SliceOptions& options, BuildReport& report, const OnBuildProgress& progress = {});

}  // namespace bloomwall::filter
