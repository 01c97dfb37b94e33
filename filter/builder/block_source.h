// Where the lines of a build come from when several threads ask at once: a list on its way through the decompressor, or a
// generator that makes its lines up. Splitting into lines, canonicalising and hashing all happen on the threads that ask;
// what is done under a lock is done once a block (some hundred kilobytes), never once a line.
//
// A build from a generator instead of files:
//   BuildOptions options;
//   options.output = "made.bwf";
//   options.generated.push_back({.name = "made up", .format = Format::urls, .open = [&] { return make_source(); }});
//   options.expected = PlanRequest{.entries = N, .hosts = H, .kinds = {...}};   // sizes before the first line is asked for
//   options.target = {.fpr = 1e-4, .memory = 30'000'000'000};
//   build(options, report);
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "filter/lists/line_blocks.h"
#include "filter/lists/list_format.h"
#include "filter/result.h"

namespace bloomwall::filter {

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // Fills `block` with whole lines (its capacity is reused: write into block.text); false at the end, and then for every
  // thread. Called by several threads at once. Blocks of 64 to 512 KiB serve best; a line is at most kMaxLineBytes.
  // `first_line` matters only to reports and to the order of allow rules.
  virtual Result<bool> next(LineBlock& block) = 0;
  // How far it is, for progress alone: in any unit, as long as both are in the same. Thread-safe.
  struct Position {
    std::uint64_t done = 0;
    std::uint64_t total = 0;  // 0: not known
  };
  virtual Position position() const = 0;
};

// Lines that no file holds. Every source that `open` gives must give the same lines, in any order; a build may read them
// twice. Formats whose lines depend on each other (see is_order_free) are read by one thread.
struct GeneratedList {
  std::string name;              // in the report and among the sources of the file
  Format format = Format::urls;  // never guessed: auto_detect is an error
  std::function<Result<std::unique_ptr<BlockSource>>()> open = {};
};

}  // namespace bloomwall::filter
