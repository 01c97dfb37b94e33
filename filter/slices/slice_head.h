// What a slice of a build says of its lists besides the keys: the same in a count and in records. All slices together
// say of the whole what one build would.
// Shapes: sections sketches, info, networks, entries, known_good, exceptions of a work file.
// Errors: bad_section, naming the file. Threads: any. Memory: what it holds, mostly names of sources and ranges.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "filter/builder/key_sketch.h"
#include "filter/file/exceptions.h"
#include "filter/file/file_info.h"
#include "filter/policy/list_exceptions.h"
#include "filter/slices/work_file.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

struct SliceHead {
  EntrySketches sketches;
  FileInfo info;  // category, builder, sources
  RangeSet networks;
  DistinctByKind entries{};  // lines taken, duplicates too
  std::vector<Exception> known_good;
  ListExceptions exceptions;
};

// Everything but known-good keys and exceptions where the file is a count.
Result<void> write_head(WorkWriter& writer, WorkKind kind, const SliceHead& head);
Result<SliceHead> read_head(const WorkFile& file);

// The whole of several slices, in the order of their numbers.
struct SliceUnion {
  EntrySketches sketches;
  RangeSet networks;
  DistinctByKind entries{};
  FileInfo info;  // sources by name; the category that all slices with a source have
  std::vector<ListExceptions> exceptions;

  // Errors: limit, where the whole has more ranges of addresses than a filter may hold; usage for a source that two
  // slices have, by name and content.
  Result<void> add(const std::filesystem::path& file, SliceHead head);
  // Distinct keys by kind, hosts, marks, ranges, and entries, into a header.
  void set_counts_of(Header& header) const;

 private:
  bool has_sources_ = false;
  std::size_t slices_ = 0;
  std::map<std::pair<std::string, Sha256>, std::size_t> sources_;  // and the slice that has it
};

}  // namespace bloomwall::filter
