// `assemble`: makes a filter of all parts, and of what the slices say of their lists (slice_head.h): octet for octet
// that of `build --like` the geometry, of all lists by name, with the same identity and without provenance.
// The counts of all slices are compared with the sizes before a page is read. Pages are copied once; the XXH3-128 of
// each leaf is made again and compared, SHA-256 and page sums are the parts'. What the lists except is united, as by
// `merge`.
// Known-good lists must be those that the maps had: what no slice lists and tests positive becomes an exception.
// Refused: slices, parts or lists that are missing (`incomplete`), given twice or of another build or run of maps.
// Errors: usage, unmet_target, limit, io, bad_digest, bad_section, those of known-good lists and of --sources.
// Threads: options.threads copy pages. Memory: 4 MiB each, 5 KiB a leaf, one slice's head, and the known-good keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "filter/builder/merge.h"
#include "filter/builder/sizing.h"

namespace bloomwall::filter {

struct AssembleOptions {
  std::filesystem::path output;
  std::filesystem::path like;                 // the geometry
  std::vector<std::filesystem::path> inputs;  // all parts and all records, in any order
  IdentityOptions identity = {};              // with the file of the series key
  std::string category = {};                  // empty: that of the lists, where all have the same
  std::vector<std::string> known_good = {};
  UsableGate gate = {};  // of these
  Target target = {};    // only fpr and of: as of a build
  bool force = false;    // not refused where it is not met
  std::filesystem::path sources = {};
  std::filesystem::path key = {};  // private; empty: the filter is not signed
  FileAccess access = {};
  std::optional<std::uint64_t> samples = {};  // as of a build
  unsigned threads = 0;
  const std::atomic<bool>* stop = nullptr;
};

struct AssembleReport {
  bool is_incomplete = false;
  Header header;  // as written
  FileInfo info;
  std::size_t slices = 0, parts = 0;
  std::vector<std::string> notes, warnings;
};

Result<void> assemble(const AssembleOptions& options, AssembleReport& report, const OnMergeProgress& progress = {});

}  // namespace bloomwall::filter
