// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/units.h"
#include "filter/builder/build_run.h"
#include "filter/builder/exact_choice.h"
#include "filter/builder/key_collector.h"
#include "filter/builder/key_sketch.h"
#include "filter/file/prediction.h"

namespace bloomwall::filter {
namespace {

bool can_be_read_again(const std::vector<std::string>& lists) {
  return std::all_of(lists.begin(), lists.end(), [](const std::string& list) {
    std::error_code error;
    const auto type = std::filesystem::status(list, error).type();
    return list != "-" &&
           (type == std::filesystem::file_type::regular || type == std::filesystem::file_type::directory);
  });
}

// Of a list that is a file; nothing of a folder, a pipe and what is not there.
std::optional<std::uint64_t> stored_bytes(const std::string& list) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(list, error)) return std::nullopt;
  const std::uintmax_t bytes = std::filesystem::file_size(list, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(bytes);
}

// What is read of all lists, in octets as stored; 0 where that is not known.
double share_read(const BuildRun& run) {
  const BuildOptions& options = run.options;
  const BlockSource::Position& now = run.position.position;
  if (options.generated.size() + options.lists.size() == 1 && now.total > 0) {
    return static_cast<double>(now.done) / static_cast<double>(now.total);
  }
  if (!options.generated.empty()) return 0;
  std::uint64_t all = 0;
  std::uint64_t read = now.done;
  for (std::size_t i = 0; i < options.lists.size(); ++i) {
    const auto bytes = stored_bytes(options.lists[i]);
    if (!bytes) return 0;
    all += *bytes;
    if (i < run.lists_read) read += *bytes;
  }
  return all == 0 ? 0 : std::min(1.0, static_cast<double>(read) / static_cast<double>(all));
}

// Warns where they, or the error, are not what people expect.
Result<void> choose_sizes(BuildRun& run, const Demand& demand) {
  const BuildOptions& options = run.options;
  auto chosen = choose_size(demand, options.target);
  const auto exact = options.target.fpr && !options.exact_side && !options.target.memory
                         ? exact_choice(demand, *options.target.fpr, chosen ? std::optional(*chosen) : std::nullopt)
                         : std::nullopt;
  if (!chosen) {
    if (exact) chosen.error().what += "; " + exact_choice_text(*exact, *options.target.fpr, std::nullopt);
    return unexpected(std::move(chosen).error());
  }
  run.sizing = *std::move(chosen);
  run.report.sizing = run.sizing;
  run.most_path_questions = demand.most_path_questions;
  if (exact) run.report.warnings.push_back(exact_choice_text(*exact, *options.target.fpr, run.sizing));
  run.warn_of_error(target_error(demand, run.sizing.sections));
  return {};
}

// The sizes are known before the keys.
class StreamedBuild {
 public:
  explicit StreamedBuild(BuildRun& run) : run_(run) {}
  // With sizes that are given.
  Result<void> run();
  // Reads the lists once for estimates, from which the sizes are chosen, and then run().
  Result<void> run_with_estimates();

 private:
  Result<void> size();
  Result<Demand> demand() const;
  Result<void> stream_into(FilterDraft& draft);
  void set_header();
  Result<void> check_fit() const;
  Result<void> check_so_far(const KeySummary& so_far) const;
  double least_error(Header counts, double times = 1) const;
  tl::unexpected<Error> made_for_fewer(const KeySummary& came, double error, const char* so_far) const;
  void warn_of_projection(const KeyStream::Counted& counted);

  BuildRun& run_;
  double allowed_error_ = 1;
  unsigned times_projected_ = 0;
  bool is_warned_ = false;
};

// All keys are held, so that the sizes fit them. Becomes a streamed build where memory does not suffice and the lists
// can be read again.
class CollectedBuild {
 public:
  explicit CollectedBuild(BuildRun& run) : run_(run) {}
  Result<void> run();

 private:
  Result<void> size();
  Result<void> write();

  BuildRun& run_;
  std::optional<KeyCollector> collector_;
};

Result<void> StreamedBuild::run_with_estimates() {
  run_.report.files.clear();
  KeyEstimator estimator(key_maker_of(run_.report.header));
  if (auto ok = run_.read(estimator, BuildPhase::estimating); !ok) return ok;
  run_.report.summary = estimator.summary();
  if (auto ok = run_.join_ranges(); !ok) return ok;
  if (auto ok = run_.check_lists(); !ok) return ok;
  run_.set_header();
  return run();
}

// What is said to come, or was estimated.
Result<Demand> StreamedBuild::demand() const {
  // Sources are not known yet: room for names, and for the sketches.
  constexpr std::uint64_t kInfoBytes = (std::uint64_t{64} << 10) + kMostSketchBytes;
  Demand demand{.counts = run_.report.header,
                .info_bytes = kInfoBytes,
                .network_bytes = networks_bytes(run_.networks),
                .of = run_.options.target.of,
                .false_marks = run_.options.target.false_marks};
  if (!run_.options.expected) {
    scale_counts(demand.counts, 1 + kSketchError);
    return demand;
  }
  PlanRequest request = *run_.options.expected;
  if (run_.options.raw) request.kinds = kRawAlone;
  auto expected = expected_counts(request);
  if (!expected) return unexpected(std::move(expected).error());
  demand.counts = *std::move(expected);
  demand.most_path_questions = most_asked(request, demand.of);
  return demand;
}

Result<void> StreamedBuild::size() {
  const double wanted = run_.options.target.fpr.value_or(kDefaultTarget);
  if (run_.like) {
    run_.sizing = {
        .sections = geometries_of(*run_.like), .predicted = run_.like->predicted, .file_bytes = run_.like->file_bytes};
    allowed_error_ = allowed_error(*run_.like, run_.options.target.of, wanted);
    return {};
  }
  auto to_store = demand();
  if (!to_store) return unexpected(std::move(to_store).error());
  if (auto ok = choose_sizes(run_, *to_store); !ok) return ok;
  allowed_error_ = std::max(wanted, target_error(*to_store, run_.sizing.sections));
  return {};
}

Result<void> StreamedBuild::run() {
  if (auto ok = size(); !ok) return ok;
  run_.report.sizing = run_.sizing;
  run_.report.streamed = true;
  run_.notify(BuildPhase::streaming);  // from here on a temporary file exists
  const Geometries& sections = run_.sizing.sections;
  auto draft = FilterDraft::create(run_.options.output, {.header = run_.report.header,
                                                         .hosts = sections.hosts,
                                                         .paths = sections.paths,
                                                         .raw = sections.raw,
                                                         .info = {},
                                                         .access = run_.options.access});
  if (!draft) return unexpected(std::move(draft).error());
  return stream_into(*draft);
}

Result<void> StreamedBuild::stream_into(FilterDraft& draft) {
  const bool was_read = !run_.report.files.empty();
  auto keys = KeyStream::create(key_maker_of(run_.report.header), draft,
                                {.ram_bytes = run_.ram_bytes,
                                 .threads = run_.threads,
                                 .stop = run_.options.stop,
                                 .check_counts = [this](const KeySummary& so_far) { return check_so_far(so_far); }});
  if (!keys) return unexpected(std::move(keys).error());
  BuildPhase phase = BuildPhase::streaming;
  (*keys)->set_idle_callback([&] {
    run_.report.stream = (*keys)->figures();
    run_.notify(phase, phase == BuildPhase::streaming ? run_.position : IngestPosition{});
  });
  run_.on_block = [&] { warn_of_projection((*keys)->counted()); };
  if (auto ok = run_.read(**keys, phase, keys->get()); !ok) return ok;
  run_.on_block = {};
  phase = BuildPhase::writing;
  run_.notify(phase);
  const EntrySketches sketches = (*keys)->sketches();
  run_.report.summary = sketches.summary();
  if (auto ok = run_.join_ranges(); !ok) return ok;
  if (!was_read) {
    if (auto ok = run_.check_lists(); !ok) return ok;
  }
  set_header();
  if (auto ok = check_fit(); !ok) return ok;
  if (auto ok = (*keys)->finish(); !ok) return ok;
  run_.report.stream = (*keys)->figures();
  if (run_.stopped()) return refuse_build(Errc::io, {}, "interrupted");
  draft.plan().header = run_.report.header;
  draft.plan().info = run_.report.info;
  draft.plan().sketches = sketches.serialise();
  draft.plan().networks = serialise_networks(run_.networks);
  // A file that merge would refuse is not written.
  if (auto ok = EntrySketches::parse(draft.plan().sketches); !ok) return unexpected(std::move(ok).error());
  draft.plan().check = run_.checked_by_sample();
  if (auto ok = run_.complete(draft); !ok) return ok;
  if (auto ok = draft.commit((*keys)->facts()); !ok) return ok;
  run_.report.header = draft.plan().header;
  return {};
}

// Sketches know the mean of the marks of a host; who gives the sizes may know what most hosts have.
void StreamedBuild::set_header() {
  run_.set_header();
  if (!run_.options.expected || run_.report.header.marks == 0) return;
  unsigned& asked = run_.report.header.path_questions;
  asked = std::max(asked, std::min(kMostPathQuestions, run_.options.expected->asks.value_or(0)));
}

// Whether the sizes suffice for what came.
Result<void> StreamedBuild::check_fit() const {
  const double error = filter::least_error(
      {.counts = run_.report.header, .of = run_.options.target.of, .most_path_questions = run_.most_path_questions},
      run_.sizing.sections);
  if (error <= allowed_error_ || run_.options.force) return {};
  return made_for_fewer(run_.report.summary, error, "");
}

tl::unexpected<Error> StreamedBuild::made_for_fewer(const KeySummary& came, double error, const char* so_far) const {
  std::string expected;
  if (run_.options.expected) {
    if (const auto counts = expected_counts(*run_.options.expected)) {
      expected = fmt::format("; --entries, --hosts and --marks came to {}, {} and {}",
                             format_count(run_.options.expected->entries), format_count(counts->hosts),
                             format_count(counts->marks));
    }
  }
  return refuse_build(
      Errc::unmet_target, run_.options.output.string(),
      fmt::format("made for fewer: about {} distinct entries on {} hosts with {} marks {}came, and a request would err "
                  "at {} instead of {}{}; not replaced (--force accepts it)",
                  format_count(came.total()), format_count(came.hosts), format_count(came.marks), so_far,
                  format_rate(error), format_rate(allowed_error_), expected));
}

// Of the errors that the target is about only what can't become less while more entries come: marks of the mean host
// may become fewer. `times`: were there so many times as many.
double StreamedBuild::least_error(Header counts, double times) const {
  scale_counts(counts, times / (1 + kSketchError));
  const bool is_worst = run_.options.target.of == FprOf::worst;
  counts.path_questions =
      run_.options.expected ? std::min(kMostPathQuestions, run_.options.expected->asks.value_or(0)) : 0;
  const Geometries& sections = run_.sizing.sections;
  const PredictedErrors p = predict(counts, sections);
  const double asked = is_worst ? worst_host(counts, sections, run_.most_path_questions).path_questions
                                : p.listed_host.p99_questions - p.unlisted_host.p99_questions;
  return std::max({p.unlisted_host.p99, p.raw_key, asked * p.path_key});
}

// Refuses as soon as it is certain: counts only grow.
Result<void> StreamedBuild::check_so_far(const KeySummary& so_far) const {
  if (run_.options.force) return {};
  Header counts;
  set_counts(counts, so_far);
  const double error = least_error(counts);
  if (error <= allowed_error_) return {};
  return made_for_fewer(so_far, error, "so far ");
}

// Once, where what is left to read makes a refusal likely if it is like what came.
void StreamedBuild::warn_of_projection(const KeyStream::Counted& counted) {
  constexpr double kEnoughRead = 0.05;
  if (is_warned_ || run_.options.force || counted.times == times_projected_) return;
  const double share = share_read(run_);
  if (share < kEnoughRead) return;
  times_projected_ = counted.times;
  Header counts;
  set_counts(counts, counted.so_far);
  const double error = least_error(counts, 1 / share);
  if (error <= allowed_error_) return;
  is_warned_ = true;
  run_.warn_now(
      fmt::format("{:.0f} % are read, and about {} distinct entries on {} hosts with {} marks came; if the rest is "
                  "like that, a request will err at {} instead of {}, and no filter is made",
                  100 * share, format_count(counted.so_far.total()), format_count(counted.so_far.hosts),
                  format_count(counted.so_far.marks), format_rate(error), format_rate(allowed_error_)));
}

Result<void> CollectedBuild::run() {
  collector_.emplace(key_maker_of(run_.report.header), run_.ram_bytes);
  auto ok = run_.read(*collector_, BuildPhase::reading);
  if (!ok && collector_->out_of_memory() && can_be_read_again(run_.options.lists)) {
    collector_.reset();
    return StreamedBuild(run_).run_with_estimates();
  }
  if (!ok) return ok;
  run_.report.summary = collector_->summary(run_.threads);
  if (ok = run_.join_ranges(); !ok) return ok;
  if (ok = run_.check_lists(); !ok) return ok;
  if (ok = size(); !ok) return ok;
  return write();
}

Result<void> CollectedBuild::size() {
  run_.set_header();
  const Demand demand{.counts = run_.report.header,
                      .info_bytes = serialise_info(run_.report.info).size(),
                      .network_bytes = networks_bytes(run_.networks),
                      .of = run_.options.target.of,
                      .most_path_questions = run_.report.summary.most_path_questions,
                      .false_marks = run_.options.target.false_marks};
  return choose_sizes(run_, demand);
}

Result<void> CollectedBuild::write() {
  run_.notify(BuildPhase::writing);
  const Geometries& sections = run_.sizing.sections;
  auto writer = FilterWriter::create(run_.options.output, {.header = run_.report.header,
                                                           .hosts = sections.hosts,
                                                           .paths = sections.paths,
                                                           .raw = sections.raw,
                                                           .info = run_.report.info,
                                                           .networks = serialise_networks(run_.networks),
                                                           .access = run_.options.access,
                                                           .check = run_.checked_by_sample()});
  if (!writer) return unexpected(std::move(writer).error());
  const bool done = collector_->insert_into(**writer, run_.threads, [this] { return run_.stopped(); });
  if (!done || run_.stopped()) return refuse_build(Errc::io, {}, "interrupted");
  if (auto ok = run_.complete((*writer)->draft()); !ok) return ok;
  if (auto ok = (*writer)->commit(); !ok) return ok;
  run_.report.header = (*writer)->header();
  return {};
}

}  // namespace

std::uint32_t converter_options(const BuildOptions& options) {
  std::uint32_t out = converter_options(options.read) | (options.raw ? kOptionRaw : 0);
  for (const auto& [list, read] : options.read_of) out |= converter_options(read);
  return out;
}

std::uint32_t converter_options(const ReadOptions& read) {
  const auto bit = [](bool on, std::uint32_t value) { return on ? value : 0U; };
  return bit(read.exact, kOptionExact) | bit(read.hosts_as_suffix, kOptionHostsAsSuffix) |
         bit(read.strict_wildcard, kOptionStrictWildcard) | bit(read.allow_tld, kOptionAllowTld) |
         bit(read.aggressive, kOptionAggressive) | bit(read.white_categories == WhiteUse::block, kOptionWhiteAsBlock) |
         bit(read.allow_wide_ranges, kOptionWideRanges) | bit(!read.csv_column.empty(), kOptionCsvColumn) |
         bit(read.path_info, kOptionPathInfo) | bit(read.index_files, kOptionIndexFiles);
}

Result<void> build(const BuildOptions& options, BuildReport& report, const OnBuildProgress& progress) {
  BuildRun run(options, report, progress);
  if (auto ok = run.prepare(); !ok) return ok;
  auto ok = options.expected || run.like ? StreamedBuild(run).run() : CollectedBuild(run).run();
  if (ok && run.beside) run.beside->forget_others();
  return ok;
}

}  // namespace bloomwall::filter
