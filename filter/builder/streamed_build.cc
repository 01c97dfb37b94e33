// Builds whose sizes are known before their keys; steps declared in build_run.h.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "filter/builder/build_run.h"
#include "filter/builder/key_sketch.h"
#include "filter/builder/key_stream.h"
#include "filter/builder/merge_counts.h"
#include "filter/builder/quantity.h"

namespace bloomwall::filter {
namespace {

// Estimates are off by 0.41 % in one of three cases; a size is chosen for three times that more, and only what surpasses
// its size by more than that is refused.
constexpr double kSketchError = 0.0125;

// S X W U Q D R N.
constexpr std::array<double, kKindCount> kRawAlone{0, 0, 0, 0, 0, 0, 1, 0};

void scale_counts(Header& counts, double factor) {
  const auto scaled = [factor](std::uint64_t& n) {
    n = static_cast<std::uint64_t>(std::ceil(static_cast<double>(n) * factor));
  };
  for (KindCounts& kind : counts.kinds) scaled(kind.keys);
  scaled(counts.hosts);
  scaled(counts.marks);
}

}  // namespace

bool BuildRun::can_read_again() const {
  return std::all_of(options_.lists.begin(), options_.lists.end(), [](const std::string& list) {
    std::error_code error;
    const auto type = std::filesystem::status(list, error).type();
    return list != "-" &&
           (type == std::filesystem::file_type::regular || type == std::filesystem::file_type::directory);
  });
}

Result<void> BuildRun::estimate() {
  report_.files.clear();
  KeyEstimator estimator(KeyMaker(report_.header.series_key));
  if (auto ok = read(estimator, BuildPhase::estimating); !ok) return ok;
  report_.summary = estimator.summary();
  if (auto ok = join_ranges(); !ok) return ok;
  if (auto ok = judge(); !ok) return ok;
  set_header();
  return stream();
}

Result<void> BuildRun::size_streamed() {
  if (like_) {
    sizing_ = {.sections = geometries_of(*like_), .predicted = like_->predicted, .file_bytes = like_->file_bytes};
    allowed_error_ = std::max(options_.target.fpr.value_or(kDefaultTarget), worst_error(like_->predicted));
    return {};
  }
  // Sources are not known yet: room for names, and for the sketches.
  constexpr std::uint64_t kInfoBytes = (std::uint64_t{64} << 10) + kMostSketchBytes;
  Demand demand{.counts = report_.header, .info_bytes = kInfoBytes, .network_bytes = networks_bytes(networks_)};
  if (options_.expected) {
    PlanRequest request = *options_.expected;
    if (options_.raw) request.kinds = kRawAlone;
    auto expected = expected_counts(request);
    if (!expected) return unexpected(std::move(expected).error());
    demand.counts = *std::move(expected);
  } else {
    scale_counts(demand.counts, 1 + kSketchError);
  }
  auto sizing = choose_size(demand, options_.target);
  if (!sizing) return unexpected(std::move(sizing).error());
  sizing_ = *std::move(sizing);
  allowed_error_ = std::max(options_.target.fpr.value_or(kDefaultTarget), worst_error(sizing_.predicted));
  warn_of_error();
  return {};
}

Result<void> BuildRun::stream() {
  if (auto ok = size_streamed(); !ok) return ok;
  report_.sizing = sizing_;
  report_.streamed = true;
  tell(BuildPhase::streaming);  // whoever wants to end it cleanly knows now
  const Geometries& sections = sizing_.sections;
  auto draft = FilterDraft::create(options_.output, {.header = report_.header,
                                                     .hosts = sections.hosts,
                                                     .paths = sections.paths,
                                                     .raw = sections.raw,
                                                     .info = {},
                                                     .access = options_.access});
  if (!draft) return unexpected(std::move(draft).error());
  return stream_into(*draft);
}

Result<void> BuildRun::stream_into(FilterDraft& draft) {
  const bool was_read = !report_.files.empty();
  auto keys = KeyStream::create(KeyMaker(report_.header.series_key), draft,
                                {.ram_bytes = ram_bytes_, .threads = threads_, .stop = options_.stop});
  if (!keys) return unexpected(std::move(keys).error());
  BuildPhase phase = BuildPhase::streaming;
  (*keys)->call_meanwhile([&] {
    report_.stream = (*keys)->figures();
    tell(phase, phase == BuildPhase::streaming ? position_ : IntakePosition{});
  });
  if (auto ok = read(**keys, phase, keys->get()); !ok) return ok;
  phase = BuildPhase::writing;
  tell(phase);
  const EntrySketches sketches = (*keys)->sketches();
  report_.summary = sketches.summary();
  if (auto ok = join_ranges(); !ok) return ok;
  if (!was_read) {
    if (auto ok = judge(); !ok) return ok;
  }
  set_header();
  if (auto ok = judge_fit(); !ok) return ok;
  if (auto ok = (*keys)->finish(); !ok) return ok;
  report_.stream = (*keys)->figures();
  if (stopped()) return refuse_build(Errc::io, {}, "interrupted");
  draft.plan().header = report_.header;
  draft.plan().info = report_.info;
  draft.plan().sketches = sketches.serialise();
  draft.plan().networks = serialise_networks(networks_);
  // What merge refuses is not written.
  if (auto ok = EntrySketches::parse(draft.plan().sketches); !ok) return unexpected(std::move(ok).error());
  draft.plan().check = checked_by_sample();
  if (auto ok = measure(draft); !ok) return ok;
  tell(BuildPhase::finishing);
  if (stopped()) return refuse_build(Errc::io, {}, "interrupted");
  if (auto ok = write_allow_rules(); !ok) return ok;
  if (auto ok = commit_extras(draft); !ok) return ok;
  if (auto ok = draft.commit((*keys)->facts()); !ok) return ok;
  report_.header = draft.plan().header;
  return {};
}

// What is read twice has to be the same twice: the sizes were chosen for the first time.
Result<void> BuildRun::judge_same_lists(const std::vector<FileIntake>& again) const {
  const auto& before = report_.files;
  for (std::size_t i = 0; i < std::min(before.size(), again.size()); ++i) {
    if (before[i].report.path == again[i].report.path && before[i].report.digest == again[i].report.digest &&
        before[i].report.lines == again[i].report.lines) {
      continue;
    }
    return refuse_build(Errc::io, again[i].report.path, "changed while it was read; build again");
  }
  if (before.size() == again.size()) return {};
  return refuse_build(Errc::io, {}, "files came or went while the lists were read; build again");
}

// Do the sizes serve what came?
Result<void> BuildRun::judge_fit() const {
  Header least = report_.header;
  scale_counts(least, 1 / (1 + kSketchError));
  const double error = worst_error(predict(least, sizing_.sections));
  if (error <= allowed_error_ || options_.force) return {};
  const KeySummary& came = report_.summary;
  std::string expected;
  if (options_.expected) {
    if (const auto counts = expected_counts(*options_.expected)) {
      expected = fmt::format("; --entries, --hosts and --marks came to {}, {} and {}",
                             format_count(options_.expected->entries), format_count(counts->hosts),
                             format_count(counts->marks));
    }
  }
  return refuse_build(
      Errc::unmet_target, options_.output.string(),
      fmt::format("made for fewer: about {} distinct entries on {} hosts with {} marks came, and a request would err "
                  "at {} instead of {}{}; not replaced (--force takes it all the same)",
                  format_count(came.total()), format_count(came.hosts), format_count(came.marks), format_rate(error),
                  format_rate(allowed_error_), expected));
}

}  // namespace bloomwall::filter
