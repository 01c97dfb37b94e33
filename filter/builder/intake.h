// From the arguments of a build to the keys in a store: folders expanded, every file read once, in order, with several
// threads each; what became of each file is reported, allow rules are kept where they are wanted.
// The outcome is the same whatever the number of threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/builder/block_source.h"
#include "filter/builder/key_store.h"
#include "filter/lists/list_reader.h"

namespace bloomwall::filter {

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
