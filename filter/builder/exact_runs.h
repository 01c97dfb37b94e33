// Inside filter/builder: 64-bit numbers in any order and number, given back ascending and each once. In memory as long as they
// fit, else as sorted runs in a file without a name in `folder`.
// Not thread-safe. Errors: io.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "filter/file/descriptor.h"

namespace bloomwall::filter {

class ExactRuns {
 public:
  ExactRuns(std::filesystem::path folder, std::uint64_t ram_bytes);
  Result<void> add(std::span<const std::uint64_t> numbers);
  // Calls `take` with each number once, ascending. Once only.
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
  Descriptor file_;
  std::uint64_t end_ = 0;
  std::vector<Run> runs_;
};

}  // namespace bloomwall::filter
