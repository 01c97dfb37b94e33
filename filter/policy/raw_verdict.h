// What filters say of a raw key (Policy::judge_raw).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "filter/policy/policy.h"

namespace bloomwall::filter {

struct LoadedFilter;

struct RawQuestion {
  std::string_view bytes;
  std::string_view filter = {};  // the only one that is asked; empty: all
};

// `absent`: null for who may wait for the disk. Else nothing is said where a page that would be read next is not in
// memory, and the page is appended.
// Thread-safe; allocates only where something matches.
std::optional<Verdict> raw_key_verdict(const std::vector<LoadedFilter>& filters, Otherwise otherwise,
                                       const RawQuestion& question, std::vector<const std::byte*>* absent);

}  // namespace bloomwall::filter
