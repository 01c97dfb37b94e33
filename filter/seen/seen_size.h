// How large a set of seen keys has to be, and how often it errs: the error of section R of a filter file, where keys
// are taken one by one while the set is asked.
// Pure functions; some milliseconds each but for seen_error(), which takes 0.1 ms. Source of the figures:
// filter/bits/bloom_math.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "filter/bits/section.h"

namespace bloomwall::filter {

// The error that a set is made for where nobody says another.
inline constexpr double kUsualSeenError = 1e-6;

// A set of so many pages: one segment, nothing is partitioned here.
inline Geometry seen_geometry(Layout layout, std::uint64_t pages) { return {.layout = layout, .pages = pages}; }

// The chance that a new key is taken for seen once `keys` distinct ones have come.
double seen_error(const Geometry& geometry, std::uint64_t keys);
// The least memory in which it is at most `error`; no pages: no size gives so small an error for so many keys.
Geometry least_seen_size(std::uint64_t keys, double error);
// The layout that errs less in `memory` bytes (at least a page), all of which are used.
Geometry filling_seen_size(std::uint64_t memory, std::uint64_t keys);
// How many distinct keys may come until it is above `error`; 0: even the first one is.
std::uint64_t seen_capacity(const Geometry& geometry, double error);

// How many distinct keys have come where so many were new to the set: those that it took for seen, though they were
// not, are among them. They set no bit that was not set, so the set is as full as if it had taken them. Each key that
// is taken stands for 1 / (1 - error) keys that came. Error: 1 % while the error is below 0.9; no more than `most`.
double seen_offered(const Geometry& geometry, std::uint64_t taken, double most);

}  // namespace bloomwall::filter
