// Writes the exact side of a filter (filter/file/exact_side.h) while its entries pass. Fingerprints are collected in memory;
// what does not fit goes to disk as sorted runs, in a file without a name beside the target, and is merged at the end.
// Memory: what it is given, at least 2 MiB. Temporary disk: 8 bytes an entry where it does not fit in memory.
// Equal entries and equal file id give equal bytes, whatever the order, the memory and the number of workers.
// Errors: io.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "filter/builder/key_observer.h"
#include "filter/file/exact_side.h"
#include "filter/file/temp_file.h"

namespace bloomwall::filter {

// "F.bwx" for "F.bwf".
std::filesystem::path exact_side_of(const std::filesystem::path& filter);

class ExactWriter final : public KeyObserver {
 public:
  ExactWriter(const std::filesystem::path& target, std::uint64_t ram_bytes, const FileAccess& access = {});
  ~ExactWriter() override;

  void expect_workers(unsigned workers) override;
  void seen(unsigned worker, const EntryKeys& keys) override;
  Result<void> check() const override;

  // After the last entry: merge, digests, sync, all in a temporary file. Once only.
  Result<ExactHeader> write(const FileId& filter);
  TempFile& written();  // after write(): to be committed

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bloomwall::filter
