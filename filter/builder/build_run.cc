// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/build_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/figures.h"
#include "base/units.h"
#include "filter/builder/build_checks.h"
#include "filter/file/filter_file.h"
#include "filter/file/memory.h"
#include "filter/file/temp_file.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

// The category that all files have in common.
std::string common_category(const std::vector<IngestedFile>& files) {
  if (files.empty()) return {};
  const std::string& first = files.front().report.category;
  const bool same =
      std::all_of(files.begin(), files.end(), [&](const IngestedFile& f) { return f.report.category == first; });
  return same ? first : std::string{};
}

}  // namespace

tl::unexpected<Error> refuse_build(Errc code, std::string where, std::string what) {
  return unexpected(Error{code, std::move(where), std::move(what)});
}

BuildRun::BuildRun(const BuildOptions& build_options, BuildReport& build_report, const OnBuildProgress& on_progress,
                   bool of_slice)
    : options(build_options),
      is_slice(of_slice),
      report(build_report),
      progress(on_progress),
      threads(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())),
      ram_bytes(options.ram_bytes != 0 ? options.ram_bytes : default_ram_budget()) {}

Result<void> BuildRun::prepare() {
  if (auto ok = check_options(); !ok) return ok;
  if (auto ok = identify(); !ok) return ok;
  return prepare_extras();
}

Result<void> BuildRun::check_options() {
  const bool has_lists = !options.lists.empty() || !options.generated.empty();
  if (!has_lists && !options.empty && !is_slice) return refuse_build(Errc::usage, {}, "no list to build from");
  if (has_lists && options.empty) return refuse_build(Errc::usage, {}, "--empty takes no lists");
  if (options.raw && options.query_spellings)
    return refuse_build(Errc::usage, {}, "--query-spellings is for URLs, and --raw keys are none");
  if (options.empty && !options.expected)
    return refuse_build(Errc::usage, {}, "--empty needs --entries: what the file is made for");
  const auto stdins = std::count(options.lists.begin(), options.lists.end(), "-") +
                      std::count(options.known_good.begin(), options.known_good.end(), "-");
  if (stdins > 1) return refuse_build(Errc::usage, "-", "standard input can be read once only");
  if (auto ok = check_outputs(); !ok) return ok;
  for (const std::string& list : options.allow_unsupported_of) {
    const auto names_it = [&](const std::vector<std::string>& lists) {
      return std::find(lists.begin(), lists.end(), list) != lists.end();
    };
    if (names_it(options.lists) || names_it(options.known_good)) continue;
    return refuse_build(Errc::usage, list, "--allow-unsupported-of names none of the lists");
  }
  if (options.sources.empty()) return {};
  auto listed = SourceList::read(options.sources);
  if (!listed) return unexpected(std::move(listed).error());
  sources = *std::move(listed);
  return {};
}

// Nothing may be written over what is read. A filter that is replaced, or that --like names, is not among that.
Result<void> BuildRun::check_inputs_stay(const char* option, const std::filesystem::path& written) const {
  std::vector<std::pair<std::string, const char*>> inputs = {
      {options.sources.string(), "is read for --sources"},
      {options.identity.series_key_file.string(), "has the series' key"}};
  for (const std::string& list : options.lists) inputs.emplace_back(list, "is one of the lists");
  for (const std::string& list : options.known_good) inputs.emplace_back(list, "is read for --known-good");
  for (const auto& [input, what] : inputs) {
    std::error_code ignored;
    if (input.empty() || !std::filesystem::equivalent(input, written, ignored)) continue;
    return refuse_build(Errc::usage, input, fmt::format("{}, and {} would write over it", what, option));
  }
  return {};
}

// No output may be written over another one or over an input.
Result<void> BuildRun::check_outputs() const {
  const std::filesystem::path exact = options.exact_side ? exact_side_of(options.output) : std::filesystem::path();
  const std::pair<const char*, const std::filesystem::path*> outputs[] = {{"--output", &options.output},
                                                                          {"--exact-side", &exact},
                                                                          {"--allow-out", &options.allow_out},
                                                                          {"--report-marks", &options.report_marks}};
  for (const auto& [option, path] : outputs) {
    if (path->empty()) continue;
    const bool is_beside = path == &options.allow_out || path == &options.report_marks;
    if (is_beside && *path == options.output) {
      return refuse_build(Errc::usage, {}, fmt::format("--output and {} name the same file", option));
    }
    if (auto ok = check_inputs_stay(option, *path); !ok) return ok;
  }
  if (!options.allow_out.empty() && options.allow_out == options.report_marks) {
    return refuse_build(Errc::usage, {}, "--allow-out and --report-marks name the same file");
  }
  if (exact.empty() || (exact != options.output && exact != options.allow_out && exact != options.report_marks)) {
    return {};
  }
  return refuse_build(Errc::usage, exact.string(), "is what --exact-side writes; give the other file another name");
}

// Whether what is built can be of the same series and geometry.
Result<void> BuildRun::check_like() const {
  if (!like) return {};
  if (like->series_id != report.header.series_id) {
    return refuse_build(Errc::usage, options.like.file.string(),
                        "--like names a file of another series than the key is of (--series-key)");
  }
  if (like->canonical_options == report.header.canonical_options) return {};
  return refuse_build(Errc::usage, options.like.file.string(),
                      fmt::format("--like names a file that was built {} --query-spellings; build this one likewise",
                                  options.query_spellings ? "without" : "with"));
}

Result<void> BuildRun::identify() {
  IdentityOptions identity_options = options.identity;
  if (!options.like.empty()) {
    if (auto ok = read_like(); !ok) return ok;
    if (identity_options.series_key_file.empty() && !options.like.geometry)
      identity_options.series_key = like->series_key;
  }
  if (!is_slice) {
    auto replaced = replaced_header(options.output, options.identity);
    if (!replaced) return unexpected(std::move(replaced).error());
    report.replaced = *std::move(replaced);
  }
  auto identity = choose_identity(identity_options, report.replaced);
  if (!identity) return unexpected(std::move(identity).error());
  set_identity(report.header, *identity);
  report.header.canonical_options = canonical_options(options);
  report.warnings = std::move(identity->warnings);
  return check_like();
}

Result<void> BuildRun::read_like() {
  if (options.expected || options.identity.new_series) {
    return refuse_build(Errc::usage, options.like.file.string(), "--like excludes --entries and --new-series");
  }
  if (options.like.geometry) {
    like = options.like.geometry;
    return {};
  }
  auto file = FilterFile::open(options.like.file);
  if (!file) return unexpected(std::move(file).error());
  like = (*file)->header();
  return {};
}

Result<void> BuildRun::prepare_extras() {
  const std::uint64_t ram = options.exact_side ? ram_bytes / 4 : 0;
  ram_bytes -= ram;
  auto made = BuildExtras::create({.known_good = options.known_good,
                                   .gate = {.most = options.most_unusable,
                                            .is_open = options.allow_unsupported,
                                            .excused = options.allow_unsupported_of},
                                   .exact_side = options.exact_side,
                                   .raw = options.raw,
                                   .access = options.access},
                                  key_maker_of(report.header), options.output, ram);
  if (!made) return unexpected(std::move(made).error());
  extras = *std::move(made);
  return {};
}

Result<void> BuildRun::read(KeyStore& store, BuildPhase phase, const KeyStream* stream) {
  notify(phase);
  const bool is_first = report.files.empty();
  Ingest ingest(store, {.read = options.read,
                        .read_of = &options.read_of,
                        .raw = options.raw,
                        .keep_allow_rules = is_first,
                        .threads = threads,
                        .observers = phase == BuildPhase::estimating ? nullptr : extras.observers(),
                        .sample = phase == BuildPhase::estimating ? nullptr : &sample,
                        .marks = phase == BuildPhase::estimating || options.report_marks.empty() ? nullptr : &marks,
                        .ranges = &ranges});
  sample = EntrySample();
  marks.clear();
  ranges.clear();
  const IngestProgress report_block = [&](const IngestPosition& input) {
    position = input;
    if (stream != nullptr) report.stream = stream->figures();
    notify(phase, input);
    if (on_block) on_block();
  };
  Result<void> ok;
  for (lists_read = 0; ok && lists_read < options.lists.size(); ++lists_read) {
    ok = ingest.read(options.lists[lists_read], report_block);
  }
  for (std::size_t i = 0; ok && i < options.generated.size(); ++i) ok = ingest.read(options.generated[i], report_block);
  if (!ok && !is_first) return ok;
  if (!is_first) return check_same_lists(ingest.files());
  report.files = ingest.files();
  report.allow_rules = ingest.allow_rule_count();
  allow_rules = ingest.allow_rules();
  important = ingest.important_hosts();
  return ok;
}

// Lists that are read twice must be the same both times: the sizes were chosen for the first.
Result<void> BuildRun::check_same_lists(const std::vector<IngestedFile>& again) const {
  const auto& before = report.files;
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

Result<void> BuildRun::join_ranges() {
  auto joined = ranges.networks();
  if (!joined) return unexpected(std::move(joined).error());
  networks = *std::move(joined);
  report.summary.distinct[index_of(Kind::network)] = networks.size();
  return {};
}

// A failed download leaves an empty file; the other lists are still good.
void BuildRun::warn_of_empty_lists() {
  if (report.files.size() < 2) return;
  for (const IngestedFile& file : report.files) {
    if (file.report.entry_count() > 0 || file.report.allow_rules > 0) continue;
    report.warnings.push_back(fmt::format("{}: {}, so nothing of it is in the filter", file.report.path,
                                          file.report.text_bytes == 0 ? "is empty" : "holds no entry"));
  }
}

// The report is long; what a list has lost, and whether it is whole, must not be overlooked.
void BuildRun::warn_of_losses() {
  constexpr double kWorthAWarning = 0.01;  // of the rules of a list
  for (const IngestedFile& file : report.files) {
    const FileReport& list = file.report;
    if (list.unusable_share() >= kWorthAWarning) {
      report.warnings.push_back(fmt::format("{}: {}", list.path, loss_text(list)));
    }
    const std::uint64_t missing = list.missing_of_stated();
    if (static_cast<double>(missing) > kWorthAWarning * static_cast<double>(list.stated.count)) {
      report.warnings.push_back(fmt::format("{}: line {} says {}, but {} are not in it; was it cut?{}", list.path,
                                            list.stated.line, count_text(list.stated.count, "entry", "entries"),
                                            missing, list.open_line > 0 ? " Its last line has no line end" : ""));
    }
  }
}

Result<void> BuildRun::check_lists() {
  warn_of_empty_lists();
  warn_of_losses();
  set_info();
  if (sources) {
    const auto wanted = is_slice ? SourceList::Wanted::any : SourceList::Wanted::all;
    if (auto ok = sources->check(report.info.sources, wanted); !ok) return ok;
  }
  if (auto ok = check_info_size(); !ok) return ok;
  if (auto ok = check_usable_share(); !ok) return ok;
  if (report.summary.total() == 0 && !options.empty && !is_slice)
    return refuse_build(Errc::usage, {}, "the lists hold no entry that could be blocked");
  return check_shrink();
}

// Checked before anything is written.
Result<void> BuildRun::check_info_size() const {
  const auto bytes = serialise_info(report.info);
  if (parse_info(bytes)) return {};
  return refuse_build(Errc::limit, options.output.string(),
                      fmt::format("{} sources are more than the information section holds (16 MiB, 100000 records)",
                                  report.info.sources.size()));
}

Result<void> BuildRun::check_usable_share() const {
  if (options.allow_unsupported) return {};
  std::vector<FileReport> reports;
  reports.reserve(report.files.size());
  const auto& excused = options.allow_unsupported_of;
  for (const IngestedFile& file : report.files) {
    if (std::find(excused.begin(), excused.end(), file.report.list) == excused.end()) reports.push_back(file.report);
  }
  const UnusableShare worst = worst_unusable_share(reports);
  if (worst.share <= options.most_unusable) return {};
  return refuse_build(Errc::bad_syntax, worst.list,
                      fmt::format("{} of {} rules can't be used ({:.1f} %, more than {:.0f} %); the report says why; "
                                  "--allow-unsupported builds from the rest",
                                  worst.unusable, worst.content, worst.share * 100, options.most_unusable * 100));
}

Result<void> BuildRun::check_shrink() const {
  if (!options.max_shrink || !report.replaced) return {};
  const std::uint64_t before = distinct_entries(*report.replaced);
  const std::uint64_t now = report.summary.total();
  const double shrunk = before > now ? static_cast<double>(before - now) / static_cast<double>(before) : 0;
  if (shrunk <= *options.max_shrink) return {};
  return refuse_build(
      Errc::limit, options.output.string(),
      fmt::format("{} distinct entries after {} ({:.1f} % fewer, --max-shrink allows {:.1f} %); not replaced", now,
                  before, shrunk * 100, *options.max_shrink * 100));
}

void BuildRun::set_header() {
  Header& header = report.header;
  set_counts(header, report.summary);
  for (std::size_t i = 0; i < kKindCount; ++i) {
    header.kinds[i].entries = 0;  // replaces the estimate where lists are read twice
    for (const IngestedFile& file : report.files) header.kinds[i].entries += file.report.entries[i];
  }
  header.converter_options = converter_options(options);
  header.unicode_version = unicode_version();
  header.psl_time = options.raw ? 0 : public_suffix_time();
}

void BuildRun::set_info() {
  report.info.sources.clear();
  report.info.builder = "bloomwall-filter " BLOOMWALL_VERSION;
  report.info.category = options.category.empty() ? common_category(report.files) : options.category;
  for (const IngestedFile& file : report.files) {
    report.info.sources.push_back({.name = file.report.path,
                                   .format = file.format(),
                                   .bytes = file.report.text_bytes,
                                   .entries = file.report.entry_count(),
                                   .sha256 = file.report.stored_digest});
  }
}

void BuildRun::warn_of_error(double error) {
  if (options.target.fpr || error <= kDefaultTarget) return;
  report.warnings.push_back(fmt::format("in {} the error of a request is {}, above the usual {}",
                                        format_bytes(options.target.memory.value_or(sizing.file_bytes)),
                                        format_rate(error), format_rate(kDefaultTarget)));
}

Result<void> BuildRun::complete(FilterDraft& draft) {
  if (auto ok = measure(draft); !ok) return ok;
  notify(BuildPhase::finishing);
  if (stopped()) return refuse_build(Errc::io, {}, "interrupted");
  if (auto ok = write_allow_rules(); !ok) return ok;
  if (auto ok = write_mark_report(); !ok) return ok;
  return commit_extras(draft);
}

Result<void> BuildRun::measure(FilterDraft& draft) const {
  Header& header = draft.plan().header;
  const PredictedErrors predicted = predict(header, sizing.sections);
  report.worst = worst_host(header, sizing.sections, most_path_questions);
  const auto measured =
      measure_error(draft, predicted, samples_for(options.samples, draft, predicted), [this] { return stopped(); });
  if (!measured) return unexpected(measured.error());
  header.measured = *measured;
  return {};
}

// After all pages are written, before the file replaces the old one.
Result<void> BuildRun::commit_extras(FilterDraft& draft) {
  if (auto ok = extras.add_exceptions(draft); !ok) return ok;
  if (auto ok = extras.write_exact_side(draft); !ok) return ok;
  report.notes = extras.notes();
  if (options.allow_out.empty()) note_exceptions();
  return {};
}

// With `allow_out` the exceptions are whoever's who asked for that file.
void BuildRun::note_exceptions() {
  exceptions = fit_exceptions(allow_rules, important);
  report.exceptions = exceptions.rules.size();
  for (std::string& note : notes_of(exceptions)) report.notes.push_back(std::move(note));
}

Result<void> BuildRun::write_mark_report() const {
  if (options.report_marks.empty()) return {};
  return replace_file(options.report_marks, marks.text(options.output.filename().string()), options.access);
}

Result<void> BuildRun::write_allow_rules() const {
  if (options.allow_out.empty()) return {};
  std::string text = "# Allow rules found while " + options.output.filename().string() + " was built.\n";
  for (const std::string& rule : allow_rules) text += rule + '\n';
  return replace_file(options.allow_out, text, options.access);
}

}  // namespace bloomwall::filter
