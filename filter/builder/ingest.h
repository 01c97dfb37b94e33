// Reads the lists of a build into a KeyStore: expands folders, reads every file once, in order, each with several
// threads, reports what became of each file, and keeps allow rules where they are wanted.
//   BlockSource -> run_blocks() -> BlockParser (filter/lists) -> KeySink
// The result does not depend on the number of threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/builder/key_store.h"
#include "filter/lists/list_format.h"
#include "filter/lists/list_input.h"
#include "filter/lists/list_reader.h"
#include "filter/policy/list_exceptions.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Gives blocks of lines to several threads: of a list that is being decompressed, or of a generator. The threads that
// call it split, canonicalise and hash; locks are taken once a block (some hundred kilobytes), never once a line.
//
// A build from a generator instead of files:
//   BuildOptions options;
//   options.output = "made.bwf";
//   options.generated.push_back({.name = "made up", .format = Format::urls, .open = [&] { return make_source(); }});
//   options.expected = PlanRequest{.entries = N, .hosts = H, .kinds = {...}};  // sizes, before a line is asked for
//   options.target = {.fpr = 1e-4, .memory = 30'000'000'000};
//   build(options, report);
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // Fills `block` with whole lines (its capacity is reused: write into block.text); false at the end, and then for
  // every thread. Called by several threads at once. Blocks of 64 to 512 KiB are fastest; a line has at most
  // kMaxLineBytes. `first_line` matters only to reports and to the order of allow rules.
  virtual Result<bool> next(LineBlock& block) = 0;
  // For progress reports only, both in the same unit. Thread-safe.
  struct Position {
    std::uint64_t done = 0;
    std::uint64_t total = 0;  // 0: not known
  };
  virtual Position position() const = 0;
};

// A list that is generated. Every source that `open` returns must give the same lines, in any order, because a build
// may read them twice. Formats whose lines depend on each other (see is_order_free) are read by one thread.
struct GeneratedList {
  std::string name;              // in the report and among the sources of the file
  Format format = Format::urls;  // never guessed: auto_detect is an error
  std::function<Result<std::unique_ptr<BlockSource>>()> open = {};
};

// What a worker does; 0 <= worker < workers. Each worker is one thread, worker 0 the calling one; others may be missing
// where the system gives no more threads. Nothing here may throw. `before` and `end` may be empty.
struct BlockWork {
  std::function<void(unsigned worker, const LineBlock& block)> parse = {};
  std::function<Result<void>(unsigned worker)> before = {};  // each block; an error ends the run
  std::function<void(unsigned worker)> end = {};             // once, on the worker's thread, if it has one
};

// Several threads take blocks of lines from one source and parse them; memory is one block a thread. Returns when every
// block is parsed. The first error, of the source or of `before`, ends the run after the blocks that are being parsed,
// and is returned. With one worker everything happens on the calling thread, in order.
Result<void> run_blocks(BlockSource& source, unsigned workers, const BlockWork& work);

class EntrySample;
class MarkReport;
class KeyObservers;
class RangeCollector;

// How much of a list may be unusable before it is refused.
inline constexpr double kMostUnusable = 0.05;  // share of its lines
struct UsableGate {
  double most = kMostUnusable;
  bool is_open = false;              // takes any (--allow-unsupported)
  std::vector<std::string> excused;  // lists that may be what they are
};

struct IngestOptions {
  ReadOptions read = {};
  const std::map<std::string, ReadOptions>* read_of = nullptr;  // of lists that are read otherwise; null: none
  bool raw = false;  // every line that is not empty is a key, byte for byte (but for a CR before the LF)
  bool keep_allow_rules = false;
  unsigned threads = 1;
  const KeyObservers* observers = nullptr;  // null: none
  EntrySample* sample = nullptr;            // null: none
  MarkReport* marks = nullptr;              // null: none
  RangeCollector* ranges = nullptr;         // null: ranges of addresses are unsupported lines
};

struct IngestedFile {
  FileReport report;
  bool raw = false;
  // Entries that were in no earlier line of this file or of those before it; all entries where that is not known, as of
  // ranges.
  DistinctByKind fresh{};
  std::uint64_t duplicates() const;
  const char* format() const { return raw ? "raw" : to_string(report.format); }
};

// Progress in the current file; called on the thread that called read(), before each block that it parses itself.
struct IngestPosition {
  std::string_view name;
  BlockSource::Position position;  // bytes as stored
};
using IngestProgress = std::function<void(const IngestPosition&)>;

class Ingest {
 public:
  Ingest(KeyStore& store, const IngestOptions& options) : store_(store), options_(options) {}
  // Reads one argument: a file, "-" or a folder. Errors: those of lists and of the store; limit where there are too
  // many allow rules. What was read before an error stays in files().
  Result<void> read(const std::string& argument, const IngestProgress& progress);
  Result<void> read(const GeneratedList& list, const IngestProgress& progress);
  const std::vector<IngestedFile>& files() const { return files_; }
  const std::vector<std::string>& allow_rules() const { return allow_rules_; }  // in the order of files and lines
  const ImportantHosts& important_hosts() const { return important_; }
  std::uint64_t allow_rule_count() const { return allow_rule_count_; }

 private:
  class Pass;
  const ReadOptions& read_options_of(const std::string& list) const;
  Result<void> read_file(const ListFile& file, const IngestProgress& progress);
  Result<void> read_list_file(const ListFile& file, IngestedFile& out, const IngestProgress& progress);
  Result<void> read_raw_file(const ListFile& file, IngestedFile& out, const IngestProgress& progress);
  Result<void> check_limits(const std::string& path);
  Result<void> take_in(IngestedFile file, const std::optional<DistinctByKind>& before);

  KeyStore& store_;
  IngestOptions options_;
  std::vector<IngestedFile> files_;
  std::vector<std::string> allow_rules_;
  ImportantHosts important_;
  std::uint64_t allow_rule_count_ = 0;
};

}  // namespace bloomwall::filter
