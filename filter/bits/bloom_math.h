// Error of one question put to a section, from counts, and its inverse for sizing. Pure functions, no I/O, thread-safe.
// Source: exact occupancy of cells by throws (factorial moments), lines of a page as a binomial mixture, pages as a
// binomial (few pages) or Poisson mixture; Putze, Sanders, Singler 2007 describe the blocked case.
// Exact for layout 2x8; layout 4x4 takes its four lines as independent given the page (pairs of them are). Off by less
// than 1 %.
// Variants of one host share its lines, so how they spread over the hosts matters; see `dispersion`.
// Breaks: below the fingerprint floor, keys per page / 2^35 in P (2^64 in H and R), which is part of every result: two
// keys of one page with one fingerprint can't be told apart whatever the number of bits. Measured by
// tests/filter/bits/error_rate_test.cc.
// Cost: about 0.1 ms a call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/bits/section.h"

namespace bloomwall::filter {

// What a section holds. A "set" is the bits of one key (or host variant): 16 of them.
struct SectionLoad {
  Layout layout = Layout::sectors_2x8;
  SectionKind kind = SectionKind::paths;
  std::uint64_t pages = 1;
  double keys = 0;  // distinct keys; in H: distinct hosts
  double sets = 0;  // H: distinct (host, variant) pairs, marks too, >= keys; P and R: not looked at, a key is a set
  // H: variance of the variants of a host over their mean less 1; from 1, where a few hosts have two, upwards. Where it
  // is not known, 3 stands for lists in which a few hosts have four (real lists: 1.02 in the mean, 13 at most).
  double dispersion = 3;
};

// Error of one question, in [0,1]. `own_sets`: sets that surely lie in the lines asked; for a question about a host
// that is in H with other variants.
double question_error(const SectionLoad& load, double own_sets = 0);

// The same for `keys` distinct keys of P or R.
double key_error(Layout layout, SectionKind kind, double keys, std::uint64_t pages);

inline constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 36;  // 2^48 bytes

// The least number of pages with question_error <= target (`load.pages` is ignored); 1 where there are no keys, 0 where
// kMaxPages does not reach the target. The error falls with pages, so the search is a bisection.
std::uint64_t pages_for(const SectionLoad& load, double target);

// Error of one question as the bits now set give it, without the fingerprint floor: what matters is how many bits are
// set, however they came to be. Averages over the pages; in a page over its lines (1: over all pairs of lines, exact
// for the bits at hand; 4x4: the mean over lines to the fourth power). Reads every byte once, at memory speed.
double fill_error(Layout layout, std::span<const std::byte> pages);

}  // namespace bloomwall::filter
