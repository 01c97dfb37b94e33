// SPDX-License-Identifier: Apache-2.0
#include "filter/file/prediction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <optional>

namespace bloomwall::filter {
namespace {

const KindCounts& of(const Header& h, Kind kind) { return h.kinds[index_of(kind)]; }
double keys_of(const Header& h, Kind kind) { return static_cast<double>(of(h, kind).keys); }
bool has(const Header& h, Kind kind) { return of(h, kind).keys != 0; }

double sum_keys(const Header& h, std::initializer_list<Kind> kinds) {
  double keys = 0;
  for (const Kind kind : kinds) keys += keys_of(h, kind);
  return keys;
}

// How many questions of each sort the marks of a host can lead to.
struct PathKinds {
  double url = 0, query = 0, directory = 0;
  double all() const { return url + query + directory; }
};

PathKinds path_kinds(const Header& h) {
  constexpr std::uint32_t kUrl = std::uint32_t{1} << kVariantMarkUrl;
  constexpr std::uint32_t kQuery = std::uint32_t{1} << kVariantMarkQuery;
  const bool known = h.mark_mask != 0;
  const bool url = known ? (h.mark_mask & kUrl) != 0 : has(h, Kind::url);
  const bool query = known ? (h.mark_mask & kQuery) != 0 : has(h, Kind::url_query);
  unsigned depths = has(h, Kind::directory) ? kDirectoryDepthsAsked : 0;
  if (known) depths = static_cast<unsigned>(std::popcount(h.mark_mask & ~(kUrl | kQuery)));
  return {.url = url ? 1.0 : 0.0,
          .query = query ? 1.0 : 0.0,
          .directory = static_cast<double>(std::min(depths, kDirectoryDepthsAsked))};
}

// Errors of one question of each kind about a host; `own_sets` of them in its lines already.
struct HostErrors {
  double suffix = 0, exact = 0, subdomains = 0, mark = 0;
};

HostErrors host_errors(const Header& h, const SectionLoad& load, double own_sets) {
  const double once = question_error(load, own_sets);
  const auto error = [&](Kind kind) { return has(h, kind) ? once : 0; };
  return {.suffix = error(Kind::suffix),
          .exact = error(Kind::exact_host),
          .subdomains = error(Kind::subdomains),
          .mark = path_kinds(h).all() > 0 ? once : 0};
}

// Everything that the error of a request is made of.
struct Parts {
  HostErrors stranger;     // about a host that is not in H
  HostErrors listed;       // about one that is, with as many sets in its lines as the mean host has
  HostErrors well_listed;  // about one that has every mark that a request asks
  double path = 0;         // of one question to P
  double marks = 0;        // that every suffix is asked for
  double asked = 0;        // of P, at most, on a host with marks
  bool suffix = false, exact = false, subdomains = false;
};

// Of the suffixes one has marks if `listed` is given. Small errors add up.
double host_error(const Parts& p, double suffixes, const HostErrors* listed_errors) {
  const double listed = listed_errors != nullptr ? 1 : 0;
  const HostErrors& own = listed_errors != nullptr ? *listed_errors : p.stranger;
  const auto of_one = [&p](const HostErrors& e) { return e.suffix + p.marks * e.mark * p.path; };
  const double strangers = suffixes - listed;
  const double parents = std::max(suffixes - 1, 0.0);
  return strangers * of_one(p.stranger) + listed * of_one(own) + own.exact +
         (parents > 0 ? (parents - listed) * p.stranger.subdomains + listed * own.subdomains : 0);
}

double host_questions(const Parts& p, double suffixes) {
  return suffixes * (p.suffix + p.marks) + p.exact + std::max(suffixes - 1, 0.0) * p.subdomains;
}

void predict_classes(const Parts& p, double mean_suffixes, double p99_suffixes, PredictedErrors& out) {
  out.unlisted_host = {.mean = stored_rate(host_error(p, mean_suffixes, nullptr)),
                       .p99 = stored_rate(host_error(p, p99_suffixes, nullptr)),
                       .mean_questions = host_questions(p, mean_suffixes),
                       .p99_questions = host_questions(p, p99_suffixes)};
  out.listed_host = out.unlisted_host;
  if (p.marks == 0) return;  // no host has marks: to this filter every host is unlisted or wholly listed
  out.listed_host = {.mean = stored_rate(host_error(p, mean_suffixes, &p.listed) + kMeanPathQuestions * p.path),
                     .p99 = stored_rate(host_error(p, p99_suffixes, &p.well_listed) + p.asked * p.path),
                     .mean_questions = out.unlisted_host.mean_questions + kMeanPathQuestions,
                     .p99_questions = out.unlisted_host.p99_questions + p.asked};
}

}  // namespace

Geometries geometries_of(const Header& header) {
  const auto of = [&header](SectionType type) {
    const SectionEntry* const section = header.find(type);
    return section != nullptr ? std::optional(section->geometry) : std::nullopt;
  };
  return {.hosts = of(SectionType::hosts), .paths = of(SectionType::paths), .raw = of(SectionType::raw)};
}

SectionLoad host_load(const Header& h, const Geometry& geometry) {
  const double kinds = sum_keys(h, {Kind::suffix, Kind::exact_host, Kind::subdomains});
  const double marks = static_cast<double>(h.marks);
  const double hosts = h.hosts != 0 ? static_cast<double>(h.hosts) : std::max(kinds, marks);
  return {.layout = geometry.layout,
          .kind = SectionKind::hosts,
          .pages = geometry.pages,
          .keys = hosts,
          .sets = std::max(kinds + marks, hosts)};
}

namespace {

SectionLoad key_load(const Geometry& geometry, SectionKind kind, double keys) {
  return {.layout = geometry.layout, .kind = kind, .pages = geometry.pages, .keys = keys, .sets = keys};
}

}  // namespace

SectionLoad path_load(const Header& h, const Geometry& geometry) {
  return key_load(geometry, SectionKind::paths, sum_keys(h, {Kind::url, Kind::url_query, Kind::directory}));
}

SectionLoad raw_load(const Header& h, const Geometry& geometry) {
  return key_load(geometry, SectionKind::raw, keys_of(h, Kind::raw));
}

double stored_rate(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(std::clamp(x, 0.0, 1.0), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 24)), exponent - 24);
}

namespace {

// The sets that surely lie in the lines of a host of H.
double mean_sets(const SectionLoad& load) { return load.keys > 0 ? std::max(load.sets / load.keys, 1.0) : 0; }

double suffixes_that_may_be_listed(const Header& h, double where_unknown) {
  return h.max_labels == 0 ? where_unknown : static_cast<double>(h.max_labels - h.min_labels + 1);
}

constexpr double kMostMarks = kDeepestMark + 2;  // of a host: others that announce questions are its parents'

// `marks` that are asked for on each suffix, and `asked` of P on a host that has so many.
Parts parts_of(const Header& h, const Geometries& geometries, double marks, double asked) {
  Parts p;
  p.suffix = has(h, Kind::suffix);
  p.exact = has(h, Kind::exact_host);
  p.subdomains = has(h, Kind::subdomains);
  if (geometries.paths) {
    p.marks = marks;
    p.asked = asked;
    p.path = question_error(path_load(h, *geometries.paths));
  }
  if (!geometries.hosts) return p;
  const SectionLoad load = host_load(h, *geometries.hosts);
  p.stranger = host_errors(h, load, 0);
  p.listed = host_errors(h, load, mean_sets(load));
  p.well_listed = host_errors(h, load, std::max(mean_sets(load), std::min(p.asked, kMostMarks)));
  return p;
}

double raw_error(const Header& h, const Geometries& geometries) {
  return geometries.raw ? stored_rate(question_error(raw_load(h, *geometries.raw))) : 0;
}

}  // namespace

PredictedErrors predict(const Header& h, const Geometries& geometries) {
  const double kinds = path_kinds(h).all();
  const double asked = kinds > 0 ? std::max<double>(kinds, h.path_questions) : 0;
  const Parts p = parts_of(h, geometries, kinds, asked);
  PredictedErrors out;
  out.path_key = stored_rate(p.path);
  out.host_key = stored_rate(std::max({p.stranger.suffix, p.stranger.exact, p.stranger.subdomains, p.stranger.mark}));
  out.raw_key = raw_error(h, geometries);
  const double most = suffixes_that_may_be_listed(h, kP99Suffixes);
  predict_classes(p, std::min(kMeanSuffixes, most), std::min(kP99Suffixes, most), out);
  return out;
}

unsigned all_mark_questions(const Header& h) {
  const std::uint32_t marks = h.mark_mask & kMarkBits;
  if (marks == 0) {
    return (has(h, Kind::url) ? 1U : 0U) + (has(h, Kind::url_query) ? 1U : 0U) +
           (has(h, Kind::directory) ? kDeepestMark : 0U);
  }
  const bool any_deeper = (marks & variant_bit(directory_mark(kDeepestMark))) != 0 && h.max_depth > kDeepestMark;
  return static_cast<unsigned>(std::popcount(marks)) + (any_deeper ? h.max_depth - kDeepestMark : 0U);
}

WorstHost worst_host(const Header& h, const Geometries& geometries, unsigned path_questions) {
  const unsigned all = geometries.paths ? all_mark_questions(h) : 0;
  // No fewer than predict() takes a request at p99 to ask.
  const unsigned least = std::max(static_cast<unsigned>(path_kinds(h).all()), h.path_questions);
  const unsigned asked = all == 0 ? 0 : std::max(path_questions > 0 ? path_questions : all, least);
  const auto known_marks = static_cast<unsigned>(std::popcount(h.mark_mask & kMarkBits));
  const Parts p = parts_of(h, geometries, known_marks > 0 ? known_marks : all, asked);
  const double suffixes = suffixes_that_may_be_listed(h, kP99Suffixes);
  const double unlisted = host_error(p, suffixes, nullptr);
  const double listed = asked > 0 ? host_error(p, suffixes, &p.well_listed) + asked * p.path : 0;
  return {.error = stored_rate(std::max({unlisted, listed, raw_error(h, geometries)})),
          .host_questions = geometries.hosts ? host_questions(p, suffixes) : 0,
          .path_questions = asked};
}

WorstHost worst_host_of(const Header& filter) { return worst_host(filter, geometries_of(filter)); }

std::size_t counted_suffixes(const Header& header) {
  constexpr std::size_t kFewest = 2, kMost = 3;  // labels
  const std::size_t most = header.max_labels == 0 ? kMost : std::min<std::size_t>(kMost, header.max_labels);
  const std::size_t fewest = std::max<std::size_t>(kFewest, header.min_labels);
  return most < fewest ? 0 : most - fewest + 1;
}

double false_mark_rate(const Header& header) {
  if (header.find(SectionType::hosts) == nullptr || header.find(SectionType::paths) == nullptr) return 0;
  const auto marks = static_cast<std::size_t>(std::popcount(header.mark_mask & kMarkBits));
  return std::min(1.0, static_cast<double>(counted_suffixes(header) * marks) * header.predicted.host_fill);
}

}  // namespace bloomwall::filter
