// Error of one question put to a section, from counts, and its inverse for sizing. Pure functions, no I/O, thread-safe.
// Source: exact occupancy of cells by throws (factorial moments), lines of a page as a binomial mixture, pages as a
// binomial (few pages) or Poisson mixture; Putze, Sanders, Singler 2007 describe the blocked case.
// Exact for layout 1 and one set of bits a question; layout 4x4 takes its four lines as independent given the page (pairs
// of them are), and a question of two rounds takes the rounds as independent given the page. Off by less than 1 %.
// Variants of one host share its lines, so how they spread over the hosts matters; see `dispersion`.
// Breaks: below the fingerprint floor, keys per page / 2^35, which is part of every result: two keys of one page with one
// fingerprint can't be told apart whatever the number of bits. Measured by tests/filter/bits/error_rate_test.cc.
// Cost: about 0.1 ms a call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/bits/section.h"

namespace bloomwall::filter {

// What a section holds. A "set" is the bits of one key (or host variant) in one round: 16 of them.
struct SectionLoad {
  Layout layout = Layout::sectors_2x8;
  std::uint64_t pages = 1;
  double keys = 0;            // distinct keys; in H: distinct hosts
  double sets = 0;            // distinct sets, >= keys: keys of two rounds count twice
  bool shared_lines = false;  // H: all sets of a host lie in the lines of that host
  double variants = 0;        // H: distinct (host, variant) pairs, marks too; 0: as many as sets, none of two rounds
  // H: variance of the variants of a host over their mean less 1; from 1, where a few hosts have two, upwards. Where it
  // is not known, 3 stands for lists in which a few hosts have four (real lists: 1.02 in the mean, 13 at most).
  double dispersion = 3;
};

// Error of one question, in [0,1]. `rounds`: sets that the question asks. `own_sets`: sets that surely lie in the lines
// asked; for a question about a host that is in H with other variants (shared_lines only).
double question_error(const SectionLoad& load, unsigned rounds = 1, double own_sets = 0);

// The same for `keys` distinct keys of P or R, all of the same number of rounds.
double key_error(Layout layout, double keys, std::uint64_t pages, unsigned rounds = 1);

inline constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 36;  // 2^48 bytes

// The least number of pages with question_error <= target (`load.pages` is ignored); 1 where there are no keys, 0 where
// kMaxPages does not reach the target. The error falls with pages, so the search is a bisection.
std::uint64_t pages_for(const SectionLoad& load, double target, unsigned rounds = 1);
std::uint64_t pages_for(Layout layout, double keys, double target, unsigned rounds = 1);

// Error of one question as the bits now set give it, without the fingerprint floor: what matters is how many bits are
// set, however they came to be. Averages over the pages; in a page over its lines (1: over all pairs of lines, exact for
// the bits at hand; 4x4: the mean over lines to the fourth power). Reads every byte once, at memory speed.
double fill_error(Layout layout, std::span<const std::byte> pages, unsigned rounds = 1, bool shared_lines = false);

}  // namespace bloomwall::filter
