// `plan`: what a filter would take that is not built yet, by its number of entries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "filter/builder/exact_choice.h"
#include "filter/builder/sizing.h"
#include "filter/file/prediction.h"
#include "filter/result.h"

namespace bloomwall::filter {

// `plan`: what a filter of a given number of entries would take: the textbook's Bloom filter, layouts 2x8 and 4x4, and
// the combination that `build` would choose, each for the requested size or error.
// The textbook's filter (m bits, k = m/n ln 2 hashes, error (1 - e^(-kn/m))^k per key) has no marks and is asked every
// host suffix with every path prefix: 7 probes in the mean, 24 at p99 in sets of ordinary URLs (99 % of them need no
// more). Where there are no URL entries it is asked the host suffixes alone, 3 and 6, and raw keys once.
// Pure; about a second.

inline constexpr double kTextbookMeanProbes = 7;
inline constexpr double kTextbookP99Probes = 24;
inline constexpr double kEntriesPerHost = 50;  // where --hosts is not given
inline constexpr double kMarksPerHost = 1.02;  // different marks on a host with path entries, in real lists
// Shares of the kinds where --kinds is not given, in the order of kKinds: S X W U Q D R N. Ranges (N) are beside
// the bits and not planned for: 8 bytes each of IPv4, 32 of IPv6.
inline constexpr std::array<double, kKindCount> kUsualKinds{1, 0, 0, 80, 12, 7, 0, 0};
inline constexpr std::array<double, kKindCount> kRawAlone{0, 0, 0, 0, 0, 0, 1, 0};  // with --raw

inline constexpr unsigned kMostAsks = 65'535;

struct PlanRequest {
  std::uint64_t entries = 0;
  std::optional<std::uint64_t> hosts = {};  // distinct hosts of the path entries; host entries are hosts of their own
  std::optional<std::uint64_t> marks = {};  // distinct (host, mark) pairs; default: kMarksPerHost for each such host
  // What the deepest request asks of URL keys on 99 % of the hosts with URL entries, or, with FprOf::worst, on any of
  // them. Default: the mean of the marks, and every mark that such kinds may have.
  std::optional<unsigned> asks = {};
  std::array<double, kKindCount> kinds = kUsualKinds;  // any scale; only their ratios count
  Target target = {};
};

// As worst_host() takes it.
unsigned most_asked(const PlanRequest& request, FprOf of);
// The counts of a header that such entries come to. Errors: usage, limit.
Result<Header> expected_counts(const PlanRequest& request);

struct PlanRow {
  std::string name;      // "textbook", "2x8", "4x4", "chosen"
  bool possible = true;  // false: nothing else is set
  std::uint64_t file_bytes = 0;
  unsigned hashes = 0;                                // the textbook's k; 0 for the others
  double host_bits = 0, path_bits = 0, raw_bits = 0;  // per set of bits; the textbook's bits per entry are path_bits
  Geometries sections = {};
  PredictedErrors predicted = {};  // the textbook: every class is the same
  WorstHost worst = {};            // not of the textbook
};

struct TextbookProbes {
  double mean = kTextbookMeanProbes;
  double p99 = kTextbookP99Probes;
};

struct PlanTable {
  Header counts;
  TextbookProbes textbook;
  std::vector<PlanRow> rows;
  std::optional<Error> refusal;           // why `build` would refuse
  std::optional<ExactChoice> exact = {};  // where an exact side reaches the same error for less
  std::string exact_text = {};            // the same for people
};

Result<PlanTable> make_plan(const PlanRequest& request);

// Of the textbook's filter: hashes for so many bits an entry, error of one key, and bits an entry for an error.
unsigned textbook_hashes(double bits_per_entry);
double textbook_error(double bits_per_entry);
double textbook_bits(double error);

}  // namespace bloomwall::filter
