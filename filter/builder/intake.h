// From the arguments of a build to the keys in a store: folders expanded, every file read once, in order, with several
// threads each; what became of each file is reported, allow rules are kept where they are wanted.
// The outcome is the same whatever the number of threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/builder/key_store.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_input.h"
#include "filter/lists/list_reader.h"
#include "filter/result.h"

namespace bloomwall::filter {

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

// Several threads take blocks of lines from one source and parse them. A thread reuses its block: memory is one block a thread.

// What a worker does; 0 <= worker < workers, for one worker by one thread. Worker 0 is the calling thread; others may be
// missing where the system gives no more threads.
// Nothing here may throw. `before` and `end` may be empty.
struct BlockWork {
  std::function<void(unsigned worker, const LineBlock& block)> parse = {};
  std::function<Result<void>(unsigned worker)> before = {};  // each block; an error ends the run
  std::function<void(unsigned worker)> end = {};             // once, on the worker's thread, if it has one
};

// Returns when every block that the source gave is parsed. The first error, of the source or of `before`, ends the run after
// the blocks that are being parsed, and is handed on. With one worker everything happens on the calling thread, in order.
Result<void> run_blocks(BlockSource& source, unsigned workers, const BlockWork& work);

class EntrySample;
class KeyObservers;
class RangeCollector;

struct IntakeOptions {
  ReadOptions read = {};
  bool raw = false;  // every line that is not empty is a key, byte for byte (but for a CR before the LF)
  bool keep_allow_rules = false;
  unsigned threads = 1;
  const KeyObservers* observers = nullptr;  // null: none
  EntrySample* sample = nullptr;            // null: none
  RangeCollector* ranges = nullptr;         // null: ranges of addresses are unsupported lines
};

struct FileIntake {
  FileReport report;
  bool raw = false;
  // Entries that neither this file nor one before it had named before; all of them where that is not known, as of ranges.
  DistinctByKind fresh{};
  std::uint64_t duplicates() const;
  const char* format() const { return raw ? "raw" : to_string(report.format); }
};

// Of the file at hand; called on the thread that called read(), before each block that it takes itself.
struct IntakePosition {
  std::string_view name;
  BlockSource::Position position;  // bytes as stored
};
using IntakeProgress = std::function<void(const IntakePosition&)>;

class Intake {
 public:
  Intake(KeyStore& store, const IntakeOptions& options) : store_(store), options_(options) {}
  // Reads one argument: a file, "-" or a folder. Errors: those of lists and of the store; limit where there are too many
  // allow rules. What was read before an error stays in files().
  Result<void> read(const std::string& argument, const IntakeProgress& progress);
  Result<void> read(const GeneratedList& list, const IntakeProgress& progress);
  const std::vector<FileIntake>& files() const { return files_; }
  const std::vector<std::string>& allow_rules() const { return allow_rules_; }  // in the order of files and lines
  std::uint64_t allow_rule_count() const { return allow_rule_count_; }

 private:
  class Pass;
  Result<void> read_file(const ListFile& file, const IntakeProgress& progress);
  Result<void> read_list_file(const ListFile& file, FileIntake& out, const IntakeProgress& progress);
  Result<void> read_raw_file(const ListFile& file, FileIntake& out, const IntakeProgress& progress);
  Result<void> check_limits(const std::string& path);
  Result<void> take_in(FileIntake file, const std::optional<DistinctByKind>& before);

  KeyStore& store_;
  IntakeOptions options_;
  std::vector<FileIntake> files_;
  std::vector<std::string> allow_rules_;
  std::uint64_t allow_rule_count_ = 0;
};

}  // namespace bloomwall::filter
