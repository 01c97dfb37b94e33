// `reduce`: makes the pages of a share of the leaves of a filter, of the records of all slices, with their digests: a
// part.
// Part i of n has the leaves from i * all / n to (i + 1) * all / n, of H, P and R one after the other. Its bytes follow
// from the records alone.
// Refused: records that are missing (`incomplete`), given twice or of another build; a leaf whose sum does not fit, or
// whose records no map can have written.
// Errors: usage, limit, io, bad_digest, bad_section.
// Threads: leaves are made by options.threads of them. Memory: 4 MiB of pages and one leaf's records each, and 24
// octets for each leaf of the part and slice; so below 256 MiB for any size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "filter/file/temp_file.h"
#include "filter/slices/work_header.h"

namespace bloomwall::filter {

struct ReduceOptions {
  std::filesystem::path output;
  std::vector<std::filesystem::path> records;  // of all slices, in any order
  std::uint32_t number = 0, of = 1;
  FileAccess access = {};
  unsigned threads = 0;  // 0: one a processor
  const std::atomic<bool>* stop = nullptr;
};
struct ReduceReport {
  bool is_incomplete = false;
  std::uint64_t leaves = 0, records = 0;  // records of several slices that are the same count each time
  std::uint64_t file_bytes = 0;
};
using OnReduceProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;  // leaves

Result<void> reduce(const ReduceOptions& options, ReduceReport& report, const OnReduceProgress& progress = {});

// The leaves of a part.
LeafSpans spans_of_part(const LeafSpans& all, std::uint32_t number, std::uint32_t of);

}  // namespace bloomwall::filter
