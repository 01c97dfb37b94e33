// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

#include "filter/builder/build_run.h"
#include "filter/builder/measure.h"
#include "filter/builder/quantity.h"
#include "filter/file/filter_file.h"
#include "filter/file/temp_file.h"
#include "filter/url/host.h"
#include "filter/url/public_suffix.h"

namespace bloomwall::filter {
namespace {

// The category that all files have in common.
std::string common_category(const std::vector<FileIntake>& files) {
  if (files.empty()) return {};
  const std::string& first = files.front().report.category;
  const bool same =
      std::all_of(files.begin(), files.end(), [&](const FileIntake& f) { return f.report.category == first; });
  return same ? first : std::string{};
}

}  // namespace

std::uint32_t converter_options(const BuildOptions& options) {
  const ReadOptions& read = options.read;
  const auto bit = [](bool on, std::uint32_t value) { return on ? value : 0U; };
  return bit(read.exact, kOptionExact) | bit(read.hosts_as_suffix, kOptionHostsAsSuffix) |
         bit(read.strict_wildcard, kOptionStrictWildcard) | bit(read.allow_tld, kOptionAllowTld) |
         bit(read.aggressive, kOptionAggressive) | bit(options.raw, kOptionRaw) |
         bit(read.white_categories == WhiteUse::block, kOptionWhiteAsBlock) |
         bit(read.allow_wide_ranges, kOptionWideRanges) | bit(!read.csv_column.empty(), kOptionCsvColumn);
}

tl::unexpected<Error> refuse_build(Errc code, std::string where, std::string what) {
  return unexpected(Error{code, std::move(where), std::move(what)});
}

BuildRun::BuildRun(const BuildOptions& options, BuildReport& report, const OnBuildProgress& progress)
    : options_(options),
      report_(report),
      progress_(progress),
      threads_(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())),
      ram_bytes_(options.ram_bytes != 0 ? options.ram_bytes : default_ram_budget()) {}

Result<void> BuildRun::run() {
  if (auto ok = check_options(); !ok) return ok;
  if (auto ok = identify(); !ok) return ok;
  if (auto ok = prepare_extras(); !ok) return ok;
  return options_.expected || like_ ? stream() : collect();
}

Result<void> BuildRun::check_options() {
  const bool has_lists = !options_.lists.empty() || !options_.generated.empty();
  if (!has_lists && !options_.empty) return refuse_build(Errc::usage, {}, "no list to build from");
  if (has_lists && options_.empty) return refuse_build(Errc::usage, {}, "--empty takes no lists");
  if (options_.empty && !options_.expected)
    return refuse_build(Errc::usage, {}, "--empty needs --entries: what the file is made for");
  const auto stdins = std::count(options_.lists.begin(), options_.lists.end(), "-") +
                      std::count(options_.known_good.begin(), options_.known_good.end(), "-");
  if (stdins > 1) return refuse_build(Errc::usage, "-", "standard input can be read once only");
  if (options_.allow_out == options_.output)
    return refuse_build(Errc::usage, {}, "--output and --allow-out name the same file");
  const std::filesystem::path exact = options_.exact_side ? exact_side_of(options_.output) : std::filesystem::path();
  if (!exact.empty() && (exact == options_.output || exact == options_.allow_out))
    return refuse_build(Errc::usage, exact.string(), "is what --exact-side writes; give the other file another name");
  for (const std::string& list : options_.lists) {
    std::error_code ignored;
    if (options_.allow_out.empty() || !std::filesystem::equivalent(list, options_.allow_out, ignored)) continue;
    return refuse_build(Errc::usage, list, "is one of the lists, and --allow-out would write over it");
  }
  for (const std::string& list : options_.allow_unsupported_of) {
    if (std::find(options_.lists.begin(), options_.lists.end(), list) != options_.lists.end()) continue;
    return refuse_build(Errc::usage, list, "--allow-unsupported-of names none of the lists");
  }
  if (options_.sources.empty()) return {};
  auto sources = SourceList::read(options_.sources);
  if (!sources) return unexpected(std::move(sources).error());
  sources_ = *std::move(sources);
  return {};
}

Result<void> BuildRun::identify() {
  IdentityOptions identity_options = options_.identity;
  if (!options_.like.empty()) {
    if (auto ok = read_like(); !ok) return ok;
    if (identity_options.series_key_file.empty()) identity_options.series_key = like_->series_key;
  }
  auto replaced = replaced_header(options_.output, options_.identity);
  if (!replaced) return unexpected(std::move(replaced).error());
  report_.replaced = *std::move(replaced);
  auto identity = choose_identity(identity_options, report_.replaced);
  if (!identity) return unexpected(std::move(identity).error());
  set_identity(report_.header, *identity);
  report_.warnings = std::move(identity->warnings);
  if (like_ && like_->series_key != report_.header.series_key) {
    return refuse_build(Errc::usage, options_.like.string(),
                        "--like names a file of another series than the key is of");
  }
  return {};
}

Result<void> BuildRun::prepare_extras() {
  const std::uint64_t ram = options_.exact_side ? ram_bytes_ / 4 : 0;
  ram_bytes_ -= ram;
  auto extras = BuildExtras::create({.known_good = options_.known_good,
                                     .exact_side = options_.exact_side,
                                     .raw = options_.raw,
                                     .access = options_.access},
                                    KeyMaker(report_.header.series_key), options_.output, ram);
  if (!extras) return unexpected(std::move(extras).error());
  extras_ = *std::move(extras);
  return {};
}

Result<void> BuildRun::measure(FilterDraft& draft) const {
  Header& header = draft.plan().header;
  const PredictedErrors predicted = predict(header, sizing_.sections);
  const auto measured =
      measure_error(draft, predicted, samples_for(options_.samples, draft, predicted), [this] { return stopped(); });
  if (!measured) return unexpected(measured.error());
  header.measured = *measured;
  return {};
}

// Once all pages are written, and before the file takes the place of the one before it.
Result<void> BuildRun::commit_extras(FilterDraft& draft) {
  if (auto ok = extras_.add_exceptions(draft); !ok) return ok;
  if (auto ok = extras_.write_exact_side(draft); !ok) return ok;
  report_.notes = extras_.notes();
  if (report_.allow_rules > 0 && options_.allow_out.empty()) {
    report_.notes.push_back(
        fmt::format("{} allow rules of the lists are not applied: write them with --allow-out FILE and name that file "
                    "under allow_lists",
                    report_.allow_rules));
  }
  return {};
}

Result<void> BuildRun::read_like() {
  if (options_.expected || options_.identity.new_series) {
    return refuse_build(Errc::usage, options_.like.string(), "--like excludes --entries and --new-series");
  }
  auto file = FilterFile::open(options_.like);
  if (!file) return unexpected(std::move(file).error());
  like_ = (*file)->header();
  return {};
}

Result<void> BuildRun::read(KeyStore& store, BuildPhase phase, const KeyStream* stream) {
  tell(phase);
  const bool is_first = report_.files.empty();
  Intake intake(store, {.read = options_.read,
                        .raw = options_.raw,
                        .keep_allow_rules = is_first && !options_.allow_out.empty(),
                        .threads = threads_,
                        .observers = phase == BuildPhase::estimating ? nullptr : extras_.observers(),
                        .sample = phase == BuildPhase::estimating ? nullptr : &sample_,
                        .ranges = &ranges_});
  sample_ = EntrySample();
  ranges_.clear();
  const IntakeProgress progress = [&](const IntakePosition& input) {
    position_ = input;
    if (stream != nullptr) report_.stream = stream->figures();
    tell(phase, input);
  };
  Result<void> ok;
  for (std::size_t i = 0; ok && i < options_.lists.size(); ++i) ok = intake.read(options_.lists[i], progress);
  for (std::size_t i = 0; ok && i < options_.generated.size(); ++i) ok = intake.read(options_.generated[i], progress);
  if (!ok && !is_first) return ok;
  if (!is_first) return judge_same_lists(intake.files());
  report_.files = intake.files();
  report_.allow_rules = intake.allow_rule_count();
  allow_rules_ = intake.allow_rules();
  return ok;
}

Result<void> BuildRun::join_ranges() {
  auto networks = ranges_.networks();
  if (!networks) return unexpected(std::move(networks).error());
  networks_ = *std::move(networks);
  report_.summary.distinct[index_of(Kind::network)] = networks_.size();
  return {};
}

Result<void> BuildRun::judge_usable() const {
  if (options_.allow_unsupported) return {};
  std::vector<FileReport> reports;
  reports.reserve(report_.files.size());
  const auto& excused = options_.allow_unsupported_of;
  for (const FileIntake& file : report_.files) {
    if (std::find(excused.begin(), excused.end(), file.report.list) == excused.end()) reports.push_back(file.report);
  }
  const UnusableShare worst = worst_unusable_share(reports);
  if (worst.share <= options_.most_unusable) return {};
  return refuse_build(Errc::bad_syntax, worst.list,
                      fmt::format("{} of {} rules can't be used ({:.1f} %, more than {:.0f} %); the report says why; "
                                  "--allow-unsupported builds from the rest",
                                  worst.unusable, worst.content, worst.share * 100, options_.most_unusable * 100));
}

Result<void> BuildRun::judge_shrink() const {
  if (!options_.max_shrink || !report_.replaced) return {};
  const std::uint64_t before = distinct_entries(*report_.replaced);
  const std::uint64_t now = report_.summary.total();
  const double shrunk = before > now ? static_cast<double>(before - now) / static_cast<double>(before) : 0;
  if (shrunk <= *options_.max_shrink) return {};
  return refuse_build(
      Errc::limit, options_.output.string(),
      fmt::format("{} distinct entries after {} ({:.1f} % fewer, --max-shrink allows {:.1f} %); not replaced", now,
                  before, shrunk * 100, *options_.max_shrink * 100));
}

// A fetch that failed leaves a file of no bytes, which says nothing against the other lists.
void BuildRun::warn_of_empty_lists() {
  if (report_.files.size() < 2) return;
  for (const FileIntake& file : report_.files) {
    if (file.report.entry_count() > 0 || file.report.allow_rules > 0) continue;
    report_.warnings.push_back(fmt::format("{}: {}, so nothing of it is in the filter", file.report.path,
                                           file.report.text_bytes == 0 ? "is empty" : "holds no entry"));
  }
}

Result<void> BuildRun::judge() {
  warn_of_empty_lists();
  set_info();
  if (sources_) {
    if (auto ok = sources_->judge(report_.info.sources); !ok) return ok;
  }
  if (auto ok = judge_info(); !ok) return ok;
  if (auto ok = judge_usable(); !ok) return ok;
  if (report_.summary.total() == 0 && !options_.empty)
    return refuse_build(Errc::usage, {}, "the lists hold no entry that could be blocked");
  return judge_shrink();
}

void BuildRun::set_header() {
  Header& header = report_.header;
  set_counts(header, report_.summary);
  for (std::size_t i = 0; i < kKindCount; ++i) {
    header.kinds[i].entries = 0;  // of lists that are read twice there is an estimate
    for (const FileIntake& file : report_.files) header.kinds[i].entries += file.report.entries[i];
  }
  header.converter_options = converter_options(options_);
  header.unicode_version = unicode_version();
  header.psl_time = options_.raw ? 0 : public_suffix_time();
}

// Found early: not once everything is written.
Result<void> BuildRun::judge_info() const {
  const auto bytes = serialise_info(report_.info);
  if (parse_info(bytes)) return {};
  return refuse_build(Errc::limit, options_.output.string(),
                      fmt::format("{} sources are more than the information section holds (16 MiB, 100000 records)",
                                  report_.info.sources.size()));
}

void BuildRun::set_info() {
  report_.info.sources.clear();
  report_.info.builder = "bloomwall-filter " BLOOMWALL_VERSION;
  report_.info.category = options_.category.empty() ? common_category(report_.files) : options_.category;
  for (const FileIntake& file : report_.files) {
    report_.info.sources.push_back({.name = file.report.path,
                                    .format = file.format(),
                                    .bytes = file.report.text_bytes,
                                    .entries = file.report.entry_count(),
                                    .sha256 = file.report.stored_digest});
  }
}

Result<void> BuildRun::write_allow_rules() const {
  if (options_.allow_out.empty()) return {};
  std::string text = "# Allow rules found while " + options_.output.filename().string() + " was built.\n";
  for (const std::string& rule : allow_rules_) text += rule + '\n';
  return replace_file(options_.allow_out, text, options_.access);
}

Result<void> BuildRun::collect() {
  collector_ = std::make_unique<KeyCollector>(KeyMaker(report_.header.series_key), ram_bytes_);
  auto ok = read(*collector_, BuildPhase::reading);
  if (!ok && collector_->out_of_memory() && can_read_again()) {
    collector_.reset();
    return estimate();
  }
  if (!ok) return ok;
  report_.summary = collector_->summary(threads_);
  for (const auto step :
       {&BuildRun::join_ranges, &BuildRun::judge, &BuildRun::size_collected, &BuildRun::write_collected}) {
    if (ok = (this->*step)(); !ok) return ok;
  }
  return {};
}

Result<void> BuildRun::size_collected() {
  set_header();
  auto sizing = choose_size({.counts = report_.header,
                             .info_bytes = serialise_info(report_.info).size(),
                             .network_bytes = networks_bytes(networks_)},
                            options_.target);
  if (!sizing) return unexpected(std::move(sizing).error());
  sizing_ = *sizing;
  report_.sizing = sizing_;
  warn_of_error();
  return {};
}

void BuildRun::warn_of_error() {
  const double error = worst_error(sizing_.predicted);
  if (options_.target.fpr || error <= kDefaultTarget) return;
  report_.warnings.push_back(fmt::format("in {} the error of a request is {}, above the usual {}",
                                         format_bytes(options_.target.memory.value_or(sizing_.file_bytes)),
                                         format_rate(error), format_rate(kDefaultTarget)));
}

Result<void> BuildRun::write_collected() {
  tell(BuildPhase::writing);
  const Geometries& sections = sizing_.sections;
  auto writer = FilterWriter::create(options_.output, {.header = report_.header,
                                                       .hosts = sections.hosts,
                                                       .paths = sections.paths,
                                                       .raw = sections.raw,
                                                       .info = report_.info,
                                                       .networks = serialise_networks(networks_),
                                                       .access = options_.access,
                                                       .check = checked_by_sample()});
  if (!writer) return unexpected(std::move(writer).error());
  const bool done = collector_->insert_into(**writer, threads_, [this] { return stopped(); });
  if (!done || stopped()) return refuse_build(Errc::io, {}, "interrupted");
  if (auto ok = measure((*writer)->draft()); !ok) return ok;
  tell(BuildPhase::finishing);
  if (stopped()) return refuse_build(Errc::io, {}, "interrupted");
  if (auto ok = write_allow_rules(); !ok) return ok;
  if (auto ok = commit_extras((*writer)->draft()); !ok) return ok;
  if (auto ok = (*writer)->commit(); !ok) return ok;
  report_.header = (*writer)->header();
  return {};
}

Result<void> build(const BuildOptions& options, BuildReport& report, const OnBuildProgress& progress) {
  return BuildRun(options, report, progress).run();
}

}  // namespace bloomwall::filter
