// Whether a release may follow the one that every gateway has. Asked before anything is written.
//   max_shrink   it lost more than this share of the entries
//   max_growth   it grew by more than this share of them
//   most_error   a request to a host that is not listed meets an error more often (the mean that the header predicts)
//   must_pass    it stops what must pass, as a URL or as the host of a tunnel (raw keys: byte for byte)
//   must_block   it does not stop what it must
// Time: that of reading the deltas. Errors: io, those of the files; usage for a line of a list that is no URL.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "filter/policy/policy.h"
#include "filter/result.h"

namespace bloomwall::filter {

struct ReleaseGuards {
  double max_shrink = 0.1;
  double max_growth = 3;
  double most_error = 1e-4;
  std::vector<std::filesystem::path> must_pass, must_block;  // lists: a URL, a host or a raw key a line
};

struct GuardRefusal {
  std::string guard, what;
};

// Different entries of the filter, with what its delta adds and without what that removes.
Result<std::uint64_t> entries_of(const FilterFiles& files);

// `last`: what all gateways have; null: nothing yet, so that shrinking and growing are not asked.
Result<std::optional<GuardRefusal>> refusal_of(const ReleaseGuards& guards, const FilterFiles& next,
                                               const FilterFiles* last);

}  // namespace bloomwall::filter
