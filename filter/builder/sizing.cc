// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/sizing.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/units.h"

namespace bloomwall::filter {
namespace {

constexpr double kMostMarkError = 1e-4;     // of one look-up in H where it holds marks only
constexpr double kMostUseful = 0.1;         // a filter that errs on more requests than that is refused
constexpr std::uint64_t kMostGrowth = 64;   // of H over what its budget for an error comes to
constexpr std::uint64_t kPageSteps = 4096;  // H is closer to the fewest pages than one part in so many
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostRanges = 1024;

// Geometries so roomy that an error is proportional to its questions, only to ask predict() for their number.
Geometries roomy(const Header& counts) {
  const auto pages = [](const SectionLoad& load) {
    return geometry_of(Layout::sectors_2x8, 1 + static_cast<std::uint64_t>(load.sets));
  };
  Geometries out;
  const Geometry any;
  if (host_load(counts, any).sets > 0) out.hosts = pages(host_load(counts, any));
  if (path_load(counts, any).sets > 0) out.paths = pages(path_load(counts, any));
  if (raw_load(counts, any).sets > 0) out.raw = pages(raw_load(counts, any));
  return out;
}

// As target_error(), of what is predicted already.
double error_of(const Demand& demand, const Sizing& sizing) {
  return demand.of == FprOf::p99 ? worst_error(sizing.predicted) : target_error(demand, sizing.sections);
}

// What the target is divided by: questions of the request that has to meet it, and which sections there are.
struct Need {
  Geometries present;
  double host_questions = 0, path_questions = 0;
  double mark_questions = 0;  // to H, that may find a false mark
  double natural_share = 1;   // of H in the error of a request
};

// Marks that hosts may be asked for: those that are in use, or, where that is not known yet, those of the kinds that
// there will be. Directories are seldom deeper than six.
double mark_kinds(const Header& counts) {
  if (const int known = std::popcount(counts.mark_mask & kMarkBits); known > 0) return known;
  const auto has = [&](Kind kind) { return counts.kinds[index_of(kind)].keys > 0; };
  return (has(Kind::url) ? 1 : 0) + (has(Kind::url_query) ? 1 : 0) + (has(Kind::directory) ? 6 : 0);
}

double path_questions_of(const Demand& d, const Geometries& sections) {
  if (d.of == FprOf::worst) return worst_host(d.counts, sections, d.most_path_questions).path_questions;
  const PredictedErrors all = predict(d.counts, sections);
  return all.listed_host.p99_questions - all.unlisted_host.p99_questions;
}

Need need_of(const Demand& d) {
  const Header& counts = d.counts;
  Need out{.present = roomy(counts)};
  if (!out.present.hosts) return out;
  if (out.present.paths) out.mark_questions = mark_kinds(counts) * static_cast<double>(counted_suffixes(counts));
  Geometries no_paths;
  no_paths.hosts = out.present.hosts;
  const PredictedErrors hosts_alone = predict(counts, no_paths);
  const double error = target_error({.counts = counts, .of = d.of}, no_paths);
  if (hosts_alone.host_key > 0) out.host_questions = std::round(error / hosts_alone.host_key);
  if (!out.present.paths) return out;
  out.path_questions = std::max(1.0, path_questions_of(d, out.present));
  const double in_hosts = host_load(counts, *out.present.hosts).sets;
  out.natural_share = in_hosts / (in_hosts + path_load(counts, *out.present.paths).sets);
  return out;
}

// Error allowed to one question of each section.
struct Budget {
  double host = 1, path = 1, raw = 1;
};

Budget split(const Need& need, double target, double host_share) {
  if (!need.present.paths) return {.host = target / std::max(need.host_questions, 1.0), .path = 1, .raw = target};
  if (need.host_questions == 0) {
    return {.host = std::max(kMostMarkError, target), .path = target / need.path_questions, .raw = target};
  }
  return {.host = target * host_share / need.host_questions,
          .path = target * (1 - host_share) / need.path_questions,
          .raw = target};
}

// The section of either layout that takes fewer bytes; nothing where the error is out of reach.
std::optional<Geometry> smallest(SectionLoad load, double error, std::optional<Layout> only) {
  std::optional<Geometry> best;
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    if (only && *only != layout) continue;
    load.layout = layout;
    const std::uint64_t pages = pages_for(load, stored_rate(error));  // where mathematics libraries agree
    if (pages == 0) continue;
    const Geometry geometry = geometry_of(layout, pages);
    if (!best || geometry.bytes() < best->bytes()) best = geometry;
  }
  return best;
}

std::optional<Sizing> fit(const Demand& d, const Need& need, const Budget& budget, std::optional<Layout> only) {
  const Geometry any;
  Geometries s;
  if (need.present.hosts) s.hosts = smallest(host_load(d.counts, any), budget.host, only);
  if (need.present.paths) s.paths = smallest(path_load(d.counts, any), budget.path, only);
  if (need.present.raw) s.raw = smallest(raw_load(d.counts, any), budget.raw, only);
  const bool all_there = s.hosts.has_value() == need.present.hosts.has_value() &&
                         s.paths.has_value() == need.present.paths.has_value() &&
                         s.raw.has_value() == need.present.raw.has_value();
  if (!all_there) return std::nullopt;
  return Sizing{
      .sections = s, .predicted = predict(d.counts, s), .file_bytes = file_bytes_of(s, d.info_bytes, d.network_bytes)};
}

// The same with the fewest pages of H, of either layout, with which the worst class meets the target; P and R stay as
// they are. Pages are whole, and a small H has few of them: each is tried, since a budget for an error can't say which
// one is just enough. Nothing where no number of pages does.
std::optional<Sizing> with_enough_hosts(const Demand& d, const Sizing& start, double target,
                                        std::optional<Layout> only) {
  std::optional<Sizing> best;
  for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
    if (only && *only != layout) continue;
    const auto with_pages = [&](std::uint64_t pages) {
      Sizing sizing = start;
      sizing.sections.hosts = geometry_of(layout, pages);
      sizing.predicted = predict(d.counts, sizing.sections);
      return sizing;
    };
    const auto meets = [&](const Sizing& sizing) { return error_of(d, sizing) <= target; };
    std::uint64_t low = 0;  // does not meet it
    std::uint64_t high = start.sections.hosts->pages;
    Sizing enough = with_pages(high);
    while (!meets(enough)) {
      if (high >= kMaxPages || high >= start.sections.hosts->pages * kMostGrowth) break;
      low = std::exchange(high, high + std::max<std::uint64_t>(1, high - low));
      enough = with_pages(high);
    }
    if (!meets(enough)) continue;
    while (high - low > std::max<std::uint64_t>(1, high / kPageSteps)) {
      const std::uint64_t middle = low + (high - low) / 2;
      Sizing tried = with_pages(middle);
      if (meets(tried)) {
        high = middle;
        enough = tried;
      } else {
        low = middle;
      }
    }
    enough.file_bytes = file_bytes_of(enough.sections, d.info_bytes, d.network_bytes);
    if (!best || enough.file_bytes < best->file_bytes) best = enough;
  }
  return best;
}

// The split takes every host for a stranger. On a listed one its own marks lie in the lines asked, and their part of
// the error falls more slowly as H grows: H is enlarged until the sum fits.
std::optional<Sizing> fit_share(const Demand& d, const Need& need, double target, double host_share,
                                std::optional<Layout> only) {
  Budget budget = split(need, target, host_share);
  if (need.mark_questions > 0 && budget.host > d.false_marks / need.mark_questions) {
    budget.host = d.false_marks / need.mark_questions;
    budget.path = std::max(budget.path, (target - budget.host * need.host_questions) / need.path_questions);
  }
  auto sizing = fit(d, need, budget, only);
  if (!sizing || error_of(d, *sizing) <= target) return sizing;
  return sizing->sections.hosts ? with_enough_hosts(d, *sizing, target, only) : std::nullopt;
}

// For a filter of address ranges only, which are not in the bits: every file has at least one section for look-ups.
Sizing without_keys(const Demand& demand, std::optional<Layout> only) {
  Geometries s;
  s.hosts = geometry_of(only.value_or(Layout::sectors_2x8), 1);
  return {.sections = s,
          .predicted = predict(demand.counts, s),
          .file_bytes = file_bytes_of(s, demand.info_bytes, demand.network_bytes)};
}

tl::unexpected<Error> refuse(std::string what) { return unexpected(Error{Errc::unmet_target, {}, std::move(what)}); }

std::string needs_text(const Demand& demand, double error) {
  const auto sizing = size_for_error(demand, error);
  return sizing ? fmt::format("{} for an error of {}", format_bytes(sizing->file_bytes), format_rate(error))
                : fmt::format("more than any file has for an error of {}", format_rate(error));
}

tl::unexpected<Error> out_of_reach(const Demand& demand, double fpr) {
  const auto least = size_for_memory(demand, kMaxPages * kPageBytes / 2);
  return refuse(fmt::format("no size gives an error of {} per request{}", format_rate(fpr),
                            least ? fmt::format("; the least is {}", format_rate(error_of(demand, *least))) : ""));
}

tl::unexpected<Error> too_small(const Demand& demand, std::uint64_t memory, double wanted) {
  const auto best = size_for_memory(demand, memory);
  const std::string possible =
      best ? fmt::format("what fits errs on {} of the requests", format_rate(error_of(demand, *best)))
           : fmt::format("what fits errs on more than {} of the requests", format_rate(kMostUseful));
  return refuse(
      fmt::format("{} do not suffice: {}; it takes {}", format_bytes(memory), possible, needs_text(demand, wanted)));
}

}  // namespace

double worst_error(const PredictedErrors& predicted) {
  return std::max({predicted.unlisted_host.p99, predicted.listed_host.p99, predicted.raw_key});
}

void scale_counts(Header& counts, double factor) {
  const auto scaled = [factor](std::uint64_t& n) {
    n = static_cast<std::uint64_t>(std::ceil(static_cast<double>(n) * factor));
  };
  for (KindCounts& kind : counts.kinds) scaled(kind.keys);
  scaled(counts.hosts);
  scaled(counts.marks);
}

double least_error(const Demand& demand, const Geometries& sections) {
  Demand least = demand;
  scale_counts(least.counts, 1 / (1 + kSketchError));
  return target_error(least, sections);
}

double allowed_error(const Header& like, FprOf of, double wanted) {
  const double of_like = of == FprOf::p99 ? worst_error(like.predicted) : worst_host(like, geometries_of(like)).error;
  return std::max(wanted, of_like);
}

double target_error(const Demand& demand, const Geometries& sections) {
  if (demand.of == FprOf::p99) return worst_error(predict(demand.counts, sections));
  return worst_host(demand.counts, sections, demand.most_path_questions).error;
}

Geometry geometry_of(Layout layout, std::uint64_t pages) {
  const std::uint64_t bytes = pages * kPageBytes;
  const std::uint64_t ranges = bytes < 2 * kMiB ? 1 : std::min(kMostRanges, std::bit_floor(bytes / kMiB));
  return {.layout = layout, .pages = (pages + ranges - 1) / ranges * ranges};
}

std::uint64_t file_bytes_of(const Geometries& sections, std::uint64_t info_bytes, std::uint64_t network_bytes) {
  std::uint64_t end = kHeaderBytes;
  std::uint64_t leaves = 0;
  const auto place = [&](std::uint64_t bytes) {
    end = place_after(end, bytes) + bytes;
    leaves += leaf_count(bytes);
  };
  for (const auto& section : {sections.hosts, sections.paths, sections.raw}) {
    if (section) place(section->bytes());
  }
  place(info_bytes);
  place(network_bytes);
  std::uint64_t pages = 0;
  for (const auto& section : {sections.hosts, sections.paths, sections.raw}) {
    if (section) pages += section->pages;
  }
  place(pages * sizeof(std::uint32_t));  // their sums
  place(leaves * kLeafRecordBytes);
  return end;
}

std::optional<Sizing> size_for_error(const Demand& demand, double target, std::optional<Layout> only) {
  const Need need = need_of(demand);
  if (!need.present.hosts && !need.present.paths && !need.present.raw) return without_keys(demand, only);
  std::optional<Sizing> best;
  for (double share = need.natural_share; share < 1 || !best; share *= 2) {
    auto sizing = fit_share(demand, need, target, std::min(share, 1.0), only);
    const bool better = sizing && (!best || sizing->file_bytes < best->file_bytes);
    if (best && !better) break;
    if (better) best = sizing;
    if (share >= 1 || need.host_questions == 0) break;
  }
  return best;
}

// Bytes fall nearly straight as the logarithm of the error grows: a step or two of interpolation between a size that is
// too large and one that fits comes close, bisection makes sure of the rest.
std::optional<Sizing> size_for_memory(const Demand& demand, std::uint64_t bytes, std::optional<Layout> only) {
  constexpr double kCloseEnough = 0.0003;  // of the size, or of the error
  const auto wanted = static_cast<double>(bytes);
  std::optional<Sizing> best;
  double fits = std::log(kMostUseful);         // the least error known to fit, as its logarithm
  double fails = -HUGE_VAL;                    // the largest known not to
  std::optional<double> bytes_where_it_fails;  // nothing where no size gives that error
  const auto attempt = [&](double error) {
    auto sizing = size_for_error(demand, std::exp(error), only);
    if (sizing && sizing->file_bytes <= bytes) {
      fits = error;
      best = sizing;
      return;
    }
    fails = error;
    bytes_where_it_fails = sizing ? std::optional(static_cast<double>(sizing->file_bytes)) : std::nullopt;
  };
  attempt(fits);
  if (!best) return std::nullopt;
  while (fails == -HUGE_VAL) {
    if (fits <= std::log(kLeastTarget)) return best;
    attempt(std::max(fits - std::log(100.0), std::log(kLeastTarget)));
  }
  for (int step = 0; step < 16 && fits - fails > kCloseEnough; ++step) {
    const double spare = wanted - static_cast<double>(best->file_bytes);
    if (spare < kCloseEnough * wanted) break;
    double share = 0.5;  // of the way from `fits` to `fails`
    if (step % 3 != 2 && bytes_where_it_fails) share = spare / (*bytes_where_it_fails - wanted + spare);
    attempt(fits - (fits - fails) * std::clamp(share, 0.01, 0.99));
  }
  return best;
}

Result<Sizing> choose_size(const Demand& to_store, const Target& target) {
  Demand demand = to_store;
  demand.of = target.of;
  demand.false_marks = target.false_marks;
  if (target.fpr && *target.fpr < kLeastTarget) {
    return refuse(fmt::format("an error below {} per request is not offered", format_rate(kLeastTarget)));
  }
  const double wanted_error = target.fpr.value_or(kDefaultTarget);
  const auto wanted = size_for_error(demand, wanted_error);
  if (!target.memory) {
    if (!wanted) return out_of_reach(demand, wanted_error);
    return *wanted;
  }
  if (wanted && wanted->file_bytes <= *target.memory) return *wanted;
  if (target.fpr) return too_small(demand, *target.memory, wanted_error);
  const auto best = size_for_memory(demand, *target.memory);
  if (!best) return too_small(demand, *target.memory, wanted_error);
  return *best;
}

}  // namespace bloomwall::filter
