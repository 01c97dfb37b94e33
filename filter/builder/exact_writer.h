// Writes the exact side of a filter (filter/file/exact_side.h) while its entries are read. Fingerprints are collected
// in memory; those that do not fit go to disk as sorted runs, in a file without a name beside the target, and are
// merged at the end.
// Memory: as given, at least 2 MiB. Temporary disk: 8 bytes an entry where they do not fit in memory.
// Equal entries and equal file id give equal bytes, whatever the order, the memory and the number of workers.
// Errors: io.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/handles.h"
#include "filter/builder/key_store.h"
#include "filter/file/exact_side.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {

// An external sort: takes 64-bit numbers in any order, gives each back once, ascending. In memory as long as they fit,
// else as sorted runs in a file without a name in `folder`.
// Not thread-safe. Errors: io.
class ExactRuns {
 public:
  ExactRuns(std::filesystem::path folder, std::uint64_t ram_bytes);
  Result<void> add(std::span<const std::uint64_t> numbers);
  // Calls `take` with each number once, ascending. To be called once.
  Result<void> drain(const std::function<Result<void>(std::uint64_t)>& take);
  std::size_t runs() const { return runs_.size(); }

 private:
  struct Run {
    std::uint64_t offset = 0, count = 0;
  };
  void sort_held();
  Result<void> spill();
  Result<void> merge(const std::function<Result<void>(std::uint64_t)>& take);
  Result<void> read(Run& run, std::vector<std::uint64_t>& into) const;

  std::filesystem::path folder_;
  std::size_t most_held_;
  std::vector<std::uint64_t> held_;
  UniqueFd file_;
  std::uint64_t end_ = 0;
  std::vector<Run> runs_;
};

// "F.bwx" for "F.bwf".
std::filesystem::path exact_side_of(const std::filesystem::path& filter);

class ExactWriter final : public KeyObserver {
 public:
  ExactWriter(const std::filesystem::path& target, std::uint64_t ram_bytes, const FileAccess& access = {});
  ~ExactWriter() override;

  void expect_workers(unsigned workers) override;
  void seen(unsigned worker, const EntryKeys& keys) override;
  Result<void> check() const override;

  // After the last entry: merges, digests and syncs a temporary file. To be called once.
  Result<ExactHeader> write(const FileId& filter);
  TempFile& written();  // after write(): to be committed

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomwall::filter
