// Errors of a whole request, predicted from what a filter holds: the builder asks it to find a size that meets a
// target, the writer for the header, `plan` for its table. Pure.
//
// Request classes (a request that is listed has no error):
//   unlisted host  no host suffix of it is in the filter. Asked of H: S on every suffix, X on the host, W on its
//                  parents, and the marks; error: that any host kind answers yes, or a mark and then a path key.
//   listed host    one suffix has marks (its own sets lie in the lines asked, which raises their error), the URL is not
//                  listed. Asked of P besides: as many keys as its marks announce.
// A mean request has 3 host suffixes and asks 1 path key; the 99th percentile has 6 suffixes (1.7 % of hosts in real
// URL sets have more than five labels) and asks 4 path keys (U, Q and D at two depths), fewer where fewer kinds exist:
// real lists have 1.01 to 2.3 marks per listed host, and 99 % of the hosts at most 4. Where a list has hosts with more,
// it asks as many as the deepest request would on 99 % of the hosts with marks, those of their parents included, or in
// the mean of the path entries, whichever is more (Header::path_questions).
// The 99th percentile is one over hosts. Who asks the remaining hosts more often errs more often: worst_host() is that
// error, of the request that asks most of the host that asks most. It bounds the error of every request of one form.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "filter/bits/bloom_math.h"
#include "filter/file/header.h"

namespace bloomwall::filter {

inline constexpr double kMeanSuffixes = 3;
inline constexpr double kP99Suffixes = 6;
inline constexpr double kMeanPathQuestions = 1;
inline constexpr unsigned kDirectoryDepthsAsked = 2;  // of a mean request on a host with directory marks

struct Geometries {
  std::optional<Geometry> hosts, paths, raw;
};

// Those of the sections that a file has.
Geometries geometries_of(const Header& header);

// What sections hold by the counts of a header. Hosts not counted (0) are taken to be the distinct host keys.
SectionLoad host_load(const Header& counts, const Geometry& geometry);
SectionLoad path_load(const Header& counts, const Geometry& geometry);
SectionLoad raw_load(const Header& counts, const Geometry& geometry);

// `counts`: kinds (keys), marks, hosts, mark_mask, path_questions, label range; nothing else is looked at. An unknown
// mark_mask (0) is derived from the kinds that have keys, an unknown label range (0) does not limit the suffixes. The
// *_fill members stay 0. Rates are as stored_rate() gives them.
PredictedErrors predict(const Header& counts, const Geometries& geometries);

// What the deepest request asks of P about a host that has every mark that occurs: U, Q, and each depth of D, which
// beyond 16 share a mark. Where the marks are not known yet, all of the kinds that there are; 0 where there are none.
// Marks of parents add to it: who counts hosts may know of more.
unsigned all_mark_questions(const Header& counts);

struct WorstHost {
  double error = 0;             // of a request, or of a raw key
  double host_questions = 0;    // to H: every suffix that may be listed (kP99Suffixes where no labels are known)
  unsigned path_questions = 0;  // to P
};
// `path_questions`: what is asked of P at most; 0: all_mark_questions().
WorstHost worst_host(const Header& counts, const Geometries& geometries, unsigned path_questions = 0);
// Of a file's host with every mark that occurs.
WorstHost worst_host_of(const Header& filter);

// A rate as it goes into a file: within 0 to 1, and 24 bits of it, so that builds by different compilers agree.
double stored_rate(double rate);

// The probability that a host of three labels that is not in the filter seems to have marks (Policy::judge_host): such
// a host is decrypted needlessly, always the same ones until the filter is rebuilt. From the bits that are set; the
// sum over marks and suffixes, which is a little more than the truth.
double false_mark_rate(const Header& header);
// Of such a host, the suffixes whose marks count.
std::size_t counted_suffixes(const Header& header);

}  // namespace bloomwall::filter
