// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "filter/file/prediction.h"

namespace bloomwall::filter {

namespace {

constexpr std::uint64_t kMostEntries = 1'000'000'000'000'000;  // beyond, sums of bits leave 64 bits

std::uint64_t rounded(double x) { return static_cast<std::uint64_t>(std::llround(x)); }

// Without path entries only the host and its parents are asked, raw keys once.
TextbookProbes textbook_probes(const Header& counts) {
  bool has_hosts = false;
  bool has_paths = false;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    has_hosts = has_hosts || (counts.kinds[i].keys > 0 && is_host_kind(kKinds[i]));
    has_paths = has_paths || (counts.kinds[i].keys > 0 && is_path_kind(kKinds[i]));
  }
  if (has_paths) return {};
  return has_hosts ? TextbookProbes{.mean = kMeanSuffixes, .p99 = kP99Suffixes} : TextbookProbes{.mean = 1, .p99 = 1};
}

PlanRow textbook_row(const PlanRequest& request, const TextbookProbes& probes) {
  const auto entries = static_cast<double>(request.entries);
  const double wanted = request.target.fpr.value_or(kDefaultTarget) / probes.p99;
  const double bits =
      request.target.memory ? static_cast<double>(*request.target.memory) * 8 / entries : textbook_bits(wanted);
  PlanRow row{.name = "textbook", .hashes = textbook_hashes(bits), .path_bits = bits};
  row.file_bytes = rounded(entries * bits / 8);
  const double error = textbook_error(bits);
  row.predicted.host_key = row.predicted.path_key = row.predicted.raw_key = error;
  row.predicted.unlisted_host = {.mean = std::min(1.0, error * probes.mean),
                                 .p99 = std::min(1.0, error * probes.p99),
                                 .mean_questions = probes.mean,
                                 .p99_questions = probes.p99};
  row.predicted.listed_host = row.predicted.unlisted_host;
  return row;
}

double bits_per_set(const std::optional<Geometry>& section, const SectionLoad& load) {
  return section && load.sets > 0 ? static_cast<double>(section->bytes()) * 8 / load.sets : 0;
}

PlanRow row_of(std::string name, const Demand& demand, const std::optional<Sizing>& sizing) {
  const Header& counts = demand.counts;
  PlanRow row{.name = std::move(name), .possible = sizing.has_value()};
  if (!sizing) return row;
  const Geometries& s = sizing->sections;
  row.file_bytes = sizing->file_bytes;
  row.host_bits = bits_per_set(s.hosts, host_load(counts, {}));
  row.path_bits = bits_per_set(s.paths, path_load(counts, {}));
  row.raw_bits = bits_per_set(s.raw, raw_load(counts, {}));
  row.sections = s;
  row.predicted = sizing->predicted;
  row.worst = worst_host(counts, s, demand.most_path_questions);
  return row;
}

}  // namespace

unsigned most_asked(const PlanRequest& request, FprOf of) { return of == FprOf::worst ? request.asks.value_or(0) : 0; }

Result<Header> expected_counts(const PlanRequest& request) {
  const double sum = std::accumulate(request.kinds.begin(), request.kinds.end(), 0.0);
  if (request.entries == 0) return unexpected(Error{Errc::usage, "entries", "at least 1"});
  if (request.entries > kMostEntries) return unexpected(Error{Errc::limit, "entries", "at most 10^15"});
  if (!(sum > 0) || !std::isfinite(sum))
    return unexpected(Error{Errc::usage, "kinds", "shares that add up to nothing"});
  if (request.asks && (*request.asks == 0 || *request.asks > kMostAsks)) {
    return unexpected(Error{Errc::usage, "asks", fmt::format("1 to {}", kMostAsks)});
  }
  Header counts;
  std::uint64_t host_entries = 0;
  std::uint64_t path_entries = 0;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const std::uint64_t keys = rounded(static_cast<double>(request.entries) * (request.kinds[i] / sum));
    counts.kinds[i].entries = counts.kinds[i].keys = keys;
    if (is_host_kind(kKinds[i])) host_entries += keys;
    if (is_path_kind(kKinds[i])) path_entries += keys;
  }
  if (path_entries > 0) {
    const std::uint64_t usual = rounded(std::ceil(static_cast<double>(path_entries) / kEntriesPerHost));
    const std::uint64_t marked = std::clamp<std::uint64_t>(request.hosts.value_or(usual), 1, path_entries);
    const std::uint64_t usual_marks = rounded(static_cast<double>(marked) * kMarksPerHost);
    counts.marks = std::clamp(request.marks.value_or(usual_marks), std::min(marked, path_entries), path_entries);
    counts.hosts = marked;
    const std::uint64_t asked = request.asks.value_or((counts.marks + marked - 1) / marked);
    counts.path_questions = static_cast<unsigned>(std::min<std::uint64_t>(kMostPathQuestions, asked));
  }
  counts.hosts += host_entries;
  return counts;
}

unsigned textbook_hashes(double bits_per_entry) {
  return static_cast<unsigned>(std::max(1L, std::lround(std::min(bits_per_entry, 1e6) * std::log(2.0))));
}

double textbook_error(double bits_per_entry) {
  const double k = textbook_hashes(bits_per_entry);
  return std::pow(-std::expm1(-k / bits_per_entry), k);
}

double textbook_bits(double error) { return -std::log(error) / (std::log(2.0) * std::log(2.0)); }

Result<PlanTable> make_plan(const PlanRequest& request) {
  auto counts = expected_counts(request);
  if (!counts) return unexpected(std::move(counts).error());
  PlanTable table{.counts = *counts,
                  .textbook = textbook_probes(*counts),
                  .rows = {},
                  .refusal = {},
                  .exact = {},
                  .exact_text = {}};
  const Demand demand{.counts = *counts,
                      .info_bytes = 0,
                      .of = request.target.of,
                      .most_path_questions = most_asked(request, request.target.of),
                      .false_marks = request.target.false_marks};
  const Target& target = request.target;
  const auto size = [&](std::optional<Layout> only) {
    return target.memory ? size_for_memory(demand, *target.memory, only)
                         : size_for_error(demand, target.fpr.value_or(kDefaultTarget), only);
  };
  table.rows.push_back(textbook_row(request, table.textbook));
  table.rows.push_back(row_of("2x8", demand, size(Layout::sectors_2x8)));
  table.rows.push_back(row_of("4x4", demand, size(Layout::lines_4x4)));
  auto chosen = choose_size(demand, target);
  if (!chosen) table.refusal = chosen.error();
  const std::optional<Sizing> sizing = chosen ? std::optional(*chosen) : std::nullopt;
  table.rows.push_back(row_of("chosen", demand, sizing));
  if (!target.fpr) return table;
  table.exact = exact_choice(demand, *target.fpr, sizing);
  if (table.exact && target.memory && table.exact->bytes() > *target.memory) table.exact.reset();
  if (table.exact) table.exact_text = exact_choice_text(*table.exact, *target.fpr, sizing);
  return table;
}

}  // namespace bloomwall::filter
