// Chooses layouts and sizes of the sections H, P and R: the smallest file whose worst request class meets the target at
// p99, or on the worst host, or the least error that a given size allows. Ties go to layout 2x8.
// The error of a request on a listed host is a sum over H and P. The bits that a set takes grow with -ln of its error,
// so the file is smallest about where H has the share n_H/(n_H + n_P) of the error, n being the sets of bits in each;
// larger shares are tried too, because fingerprints bound the error of a small section from below. Few hosts get about
// 32 bits each at 1e-4. Where H holds only marks its error matters little for verdicts, but a false mark costs a page
// of P, and under tls_inspection a host without entries is decrypted for it: at most one of 10,000 such hosts, whatever
// the target (false_mark_rate in prediction.h), unless more are allowed; at a target of 1e-2 H is half as
// large again for it. Deterministic; some hundred calls of question_error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "filter/file/prediction.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Whose error has to meet a target: that of a request at p99 over hosts, or that of worst_host().
enum class FprOf : std::uint8_t { p99, worst };

inline constexpr double kDefaultFalseMarks = 1e-4;  // hosts without entries that seem to have marks

// What is to be stored: the counts of a header (what predict() looks at), and the size of the info section and of
// networks; and whose error counts.
struct Demand {
  Header counts = {};
  std::uint64_t info_bytes = 0;
  std::uint64_t network_bytes = 0;
  FprOf of = FprOf::p99;
  unsigned most_path_questions = 0;         // as worst_host() takes it
  double false_marks = kDefaultFalseMarks;  // at most
};

struct Sizing {
  Geometries sections = {};
  PredictedErrors predicted;
  std::uint64_t file_bytes = 0;  // of the whole file
};

// The worst request class at p99.
double worst_error(const PredictedErrors& predicted);
// The error that is compared with the target: that, or the worst host's.
double target_error(const Demand& demand, const Geometries& sections);

// Counts that are estimated have a standard error of 0.41 %. Sizes are chosen for three times that more, and a build is
// refused only where it surpasses its size by more than that.
inline constexpr double kSketchError = 0.0125;
void scale_counts(Header& counts, double factor);  // keys by kind, hosts, marks; rounded up
// The target error of what estimated counts are at the least.
double least_error(const Demand& demand, const Geometries& sections);
// What a file of these counts and sections was made for at the worst, or `wanted` where that is more.
double allowed_error(const Header& like, FprOf of, double wanted);

inline constexpr double kDefaultTarget = 1e-6;  // error of a request
// The least error that is offered: below it the fingerprints of P take half a kilobyte a URL. Hosts and raw keys take
// some 60 bits at 1e-8.
inline constexpr double kLeastTarget = 1e-9;
struct Target {
  std::optional<double> fpr = {};  // must be met
  // File size that must not be passed. Alone: kDefaultTarget where that fits, else the least error that does.
  std::optional<std::uint64_t> memory = {};
  FprOf of = FprOf::p99;
  double false_marks = kDefaultFalseMarks;
};
// `target` says whose error counts and how many false marks may be, whatever `demand` says.
Result<Sizing> choose_size(const Demand& demand, const Target& target);

// The steps of choose_size, for `plan`. `only`: use only this layout. Nothing where the target can't be met.
std::optional<Sizing> size_for_error(const Demand& demand, double target, std::optional<Layout> only = {});
std::optional<Sizing> size_for_memory(const Demand& demand, std::uint64_t bytes, std::optional<Layout> only = {});

// Pages of 2 MiB and more are rounded up to a multiple of a power of two, at most 1024, of ranges of about 1 to 2 MiB,
// so that threads that fill ranges of the hash have pages for themselves: under 0.4 %.
Geometry geometry_of(Layout layout, std::uint64_t pages);
// What the writer will make of it: header, alignment, info, networks, leaf digests.
std::uint64_t file_bytes_of(const Geometries& sections, std::uint64_t info_bytes, std::uint64_t network_bytes = 0);

}  // namespace bloomwall::filter
