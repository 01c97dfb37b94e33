// Chooses layouts and sizes of the sections H, P and R: the smallest file whose worst request class meets the target at
// p99, or the least error that a given size allows. Ties go to layout 2x8.
// The error of a request on a listed host is a sum over H and P. The bits that a set takes grow with -ln of its error,
// so the file is smallest about where H has the share n_H/(n_H + n_P) of the error, n being the sets of bits in each;
// larger shares are tried too, because fingerprints bound the error of a small section from below. Few hosts get about
// 32 bits each at 1e-4. Where H holds only marks its error matters little for verdicts, but a false mark costs a page
// of P, and under tls_inspection a host without entries is decrypted for it: at most one of 10,000 such hosts, whatever
// the target (false_mark_rate in prediction.h). Deterministic; some hundred calls of question_error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "filter/file/prediction.h"
#include "filter/result.h"

namespace bloomwall::filter {

// What is to be stored: the counts of a header (what predict() looks at), and the size of the info section and of
// networks.
struct Demand {
  Header counts = {};
  std::uint64_t info_bytes = 0;
  std::uint64_t network_bytes = 0;
};

struct Sizing {
  Geometries sections = {};
  PredictedErrors predicted;
  std::uint64_t file_bytes = 0;  // of the whole file
};

// The error that is compared with the target: the worst request class at p99.
double worst_error(const PredictedErrors& predicted);

inline constexpr double kDefaultTarget = 1e-6;  // error of a request
// The least error that is offered: below it the fingerprints of P take half a kilobyte a URL. Hosts and raw keys take
// some 60 bits at 1e-8.
inline constexpr double kLeastTarget = 1e-9;
struct Target {
  std::optional<double> fpr = {};  // must be met
  // File size that must not be passed. Alone: kDefaultTarget where that fits, else the least error that does.
  std::optional<std::uint64_t> memory = {};
};
Result<Sizing> choose_size(const Demand& demand, const Target& target);

// The steps of choose_size, for `plan`. `only`: use only this layout. Nothing where the target can't be met.
std::optional<Sizing> size_for_error(const Demand& demand, double target, std::optional<Layout> only = {});
std::optional<Sizing> size_for_memory(const Demand& demand, std::uint64_t bytes, std::optional<Layout> only = {});

// Pages of 2 MiB and more are rounded up to a multiple of a power of two, at most 1024, of ranges of about 1 to 2 MiB,
// so that threads that fill ranges of the hash have pages for themselves: under 0.4 %.
Geometry geometry_of(Layout layout, std::uint64_t pages);
// What the writer will make of it: header, alignment, info, networks, leaf digests.
std::uint64_t file_bytes_of(const Geometries& sections, std::uint64_t info_bytes, std::uint64_t network_bytes = 0);

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

struct PlanRequest {
  std::uint64_t entries = 0;
  std::optional<std::uint64_t> hosts = {};  // distinct hosts of the path entries; host entries are hosts of their own
  std::optional<std::uint64_t> marks = {};  // distinct (host, mark) pairs; default: kMarksPerHost for each such host
  std::array<double, kKindCount> kinds = kUsualKinds;  // any scale; only their ratios count
  Target target = {};
};

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
};

struct TextbookProbes {
  double mean = kTextbookMeanProbes;
  double p99 = kTextbookP99Probes;
};

struct PlanTable {
  Header counts;
  TextbookProbes textbook;
  std::vector<PlanRow> rows;
  std::optional<Error> refusal;  // why `build` would refuse
};

Result<PlanTable> make_plan(const PlanRequest& request);

// Of the textbook's filter: hashes for so many bits an entry, error of one key, and bits an entry for an error.
unsigned textbook_hashes(double bits_per_entry);
double textbook_error(double bits_per_entry);
double textbook_bits(double error);

}  // namespace bloomwall::filter
