// SPDX-License-Identifier: Apache-2.0
#include "filter/build/builder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "filter/build/measure.h"
#include "filter/build/quantity.h"
#include "filter/file/filter_writer.h"
#include "filter/file/temp_file.h"
#include "filter/lists/public_suffix.h"
#include "filter/url/idna.h"

namespace bloomwall::filter {
namespace {

tl::unexpected<Error> refuse(Errc code, std::string where, std::string what) {
  return unexpected(Error{code, std::move(where), std::move(what)});
}

std::uint32_t converter_options(const BuildOptions& options) {
  const ReadOptions& read = options.read;
  const auto bit = [](bool on, std::uint32_t value) { return on ? value : 0U; };
  return bit(read.exact, kOptionExact) | bit(read.hosts_as_suffix, kOptionHostsAsSuffix) |
         bit(read.strict_wildcard, kOptionStrictWildcard) | bit(read.allow_tld, kOptionAllowTld) |
         bit(read.aggressive, kOptionAggressive) | bit(options.raw, kOptionRaw) |
         bit(read.white_categories == WhiteUse::block, kOptionWhiteAsBlock);
}

std::uint64_t distinct_entries(const Header& header) {
  std::uint64_t sum = 0;
  for (const KindCounts& kind : header.kinds) sum += kind.keys;
  return sum;
}

// The category that all files have in common.
std::string common_category(const std::vector<FileIntake>& files) {
  if (files.empty()) return {};
  const std::string& first = files.front().report.category;
  const bool same =
      std::all_of(files.begin(), files.end(), [&](const FileIntake& f) { return f.report.category == first; });
  return same ? first : std::string{};
}

// Whole or not at all, as the filter itself.
Result<void> write_text(const std::filesystem::path& path, std::string_view text) {
  auto file = TempFile::create(path);
  if (!file) return unexpected(std::move(file).error());
  while (!text.empty()) {
    const ssize_t done = ::write(file->descriptor(), text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return refuse(Errc::io, path.string(), std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return file->commit();
}

class Build {
 public:
  Build(const BuildOptions& options, BuildReport& report, const OnBuildProgress& progress)
      : options_(options),
        report_(report),
        progress_(progress),
        threads_(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())) {}

  Result<void> run() {
    for (const auto step :
         {&Build::identify, &Build::read, &Build::judge, &Build::size, &Build::write, &Build::finish}) {
      if (auto ok = (this->*step)(); !ok) return ok;
    }
    return {};
  }

 private:
  Result<void> identify();
  Result<void> read();
  Result<void> judge();
  Result<void> size();
  Result<void> write();
  Result<void> finish();
  Result<void> judge_usable() const;
  Result<void> judge_shrink() const;
  Result<void> judge_fit() const;
  void set_header();
  void set_info();
  void tell(BuildPhase phase, const IntakePosition& input = {}) const {
    if (progress_) progress_({.phase = phase, .input = input});
  }
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }

  const BuildOptions& options_;
  BuildReport& report_;
  const OnBuildProgress& progress_;
  unsigned threads_;
  std::unique_ptr<KeyCollector> collector_;
  Sizing sizing_;
  std::vector<std::string> allow_rules_;
  std::unique_ptr<FilterWriter> writer_;
};

Result<void> Build::identify() {
  if (options_.lists.empty() && options_.generated.empty()) return refuse(Errc::usage, {}, "no list to build from");
  if (options_.allow_out == options_.output)
    return refuse(Errc::usage, {}, "--output and --allow-out name the same file");
  auto replaced = replaced_header(options_.output, options_.identity);
  if (!replaced) return unexpected(std::move(replaced).error());
  report_.replaced = *std::move(replaced);
  auto identity = choose_identity(options_.identity, report_.replaced);
  if (!identity) return unexpected(std::move(identity).error());
  set_identity(report_.header, *identity);
  report_.warnings = std::move(identity->warnings);
  return {};
}

Result<void> Build::read() {
  tell(BuildPhase::reading);
  collector_ = std::make_unique<KeyCollector>(KeyMaker(report_.header.series_key),
                                              options_.ram_bytes != 0 ? options_.ram_bytes : default_ram_budget());
  Intake intake(*collector_, {.read = options_.read,
                              .raw = options_.raw,
                              .keep_allow_rules = !options_.allow_out.empty(),
                              .threads = threads_});
  const IntakeProgress progress = [this](const IntakePosition& input) { tell(BuildPhase::reading, input); };
  Result<void> ok;
  for (std::size_t i = 0; ok && i < options_.lists.size(); ++i) ok = intake.read(options_.lists[i], progress);
  for (std::size_t i = 0; ok && i < options_.generated.size(); ++i) ok = intake.read(options_.generated[i], progress);
  report_.files = intake.files();
  report_.allow_rules = intake.allow_rule_count();
  allow_rules_ = intake.allow_rules();
  if (ok) report_.summary = collector_->summary(threads_);
  return ok;
}

Result<void> Build::judge_usable() const {
  if (options_.allow_unsupported) return {};
  std::vector<FileReport> reports;
  reports.reserve(report_.files.size());
  for (const FileIntake& file : report_.files) reports.push_back(file.report);
  const UnusableShare worst = worst_unusable_share(reports);
  if (worst.share <= kMostUnusable) return {};
  return refuse(Errc::bad_syntax, worst.list,
                fmt::format("{} of {} rules can't be used ({:.1f} %, more than {:.0f} %); the report says why; "
                            "--allow-unsupported builds from the rest",
                            worst.unusable, worst.content, worst.share * 100, kMostUnusable * 100));
}

Result<void> Build::judge_shrink() const {
  if (!options_.max_shrink || !report_.replaced) return {};
  const std::uint64_t before = distinct_entries(*report_.replaced);
  const std::uint64_t now = report_.summary.total();
  const double shrunk = before > now ? static_cast<double>(before - now) / static_cast<double>(before) : 0;
  if (shrunk <= *options_.max_shrink) return {};
  return refuse(Errc::limit, options_.output.string(),
                fmt::format("{} distinct entries after {} ({:.1f} % fewer, --max-shrink allows {:.1f} %); not replaced",
                            now, before, shrunk * 100, *options_.max_shrink * 100));
}

Result<void> Build::judge() {
  if (auto ok = judge_usable(); !ok) return ok;
  if (report_.summary.total() == 0) return refuse(Errc::usage, {}, "the lists hold no entry that could be blocked");
  return judge_shrink();
}

void Build::set_header() {
  Header& header = report_.header;
  set_counts(header, report_.summary);
  for (const FileIntake& file : report_.files) {
    for (std::size_t i = 0; i < kKindCount; ++i) header.kinds[i].entries += file.report.entries[i];
  }
  header.converter_options = converter_options(options_);
  header.unicode_version = unicode_version();
  header.psl_time = options_.raw ? 0 : public_suffix_time();
}

void Build::set_info() {
  report_.info.builder = "bloomwall-filter " BLOOMWALL_VERSION;
  report_.info.category = options_.category.empty() ? common_category(report_.files) : options_.category;
  for (const FileIntake& file : report_.files) {
    report_.info.sources.push_back({.name = file.report.path,
                                    .format = file.format(),
                                    .bytes = file.report.text_bytes,
                                    .entries = file.report.entry_count(),
                                    .sha256 = file.report.digest});
  }
}

Result<void> Build::size() {
  set_header();
  set_info();
  Header counts = report_.header;
  if (options_.expected) {
    auto expected = expected_counts(*options_.expected);
    if (!expected) return unexpected(std::move(expected).error());
    counts = *std::move(expected);
  }
  auto sizing = choose_size({.counts = counts, .info_bytes = serialise_info(report_.info).size()}, options_.target);
  if (!sizing) return unexpected(std::move(sizing).error());
  sizing_ = *sizing;
  report_.sizing = sizing_;
  if (auto ok = judge_fit(); !ok) return ok;
  const double error = worst_error(sizing_.predicted);
  if (!options_.target.fpr && error > kDefaultTarget) {
    report_.warnings.push_back(fmt::format("in {} the error of a request is {}, above the usual {}",
                                           format_bytes(options_.target.memory.value_or(0)), format_rate(error),
                                           format_rate(kDefaultTarget)));
  }
  return {};
}

// Where sizes were chosen for what was expected: do they serve what came?
Result<void> Build::judge_fit() const {
  if (!options_.expected) return {};
  const Geometries& sections = sizing_.sections;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    const Kind kind = kKinds[i];
    const bool has_section = kind == Kind::raw    ? sections.raw.has_value()
                             : is_path_kind(kind) ? sections.paths.has_value()
                                                  : sections.hosts.has_value();
    if (report_.header.kinds[i].keys == 0 || has_section) continue;
    return refuse(
        Errc::usage, {},
        fmt::format("there are entries of kind {}, of which none were announced (--kinds)", static_cast<char>(kind)));
  }
  const double allowed = std::max(options_.target.fpr.value_or(kDefaultTarget), worst_error(sizing_.predicted));
  const double error = worst_error(predict(report_.header, sections));
  if (error <= allowed || options_.force) return {};
  return refuse(
      Errc::unmet_target, options_.output.string(),
      fmt::format("{} distinct entries on {} hosts where {} were expected: a request errs at {} instead of {}; "
                  "not replaced (--force takes it)",
                  format_count(report_.summary.total()), format_count(report_.summary.hosts),
                  format_count(options_.expected->entries), format_rate(error), format_rate(allowed)));
}

Result<void> Build::write() {
  tell(BuildPhase::writing);
  const Geometries& sections = sizing_.sections;
  auto writer = FilterWriter::create(options_.output, {.header = report_.header,
                                                       .hosts = sections.hosts,
                                                       .paths = sections.paths,
                                                       .raw = sections.raw,
                                                       .info = report_.info});
  if (!writer) return unexpected(std::move(writer).error());
  writer_ = *std::move(writer);
  const bool done = collector_->insert_into(*writer_, threads_, [this] { return stopped(); });
  if (!done || stopped()) return refuse(Errc::io, {}, "interrupted");
  const PredictedErrors& predicted = sizing_.predicted;
  const std::uint64_t samples = options_.samples.value_or(usual_samples(predicted));
  writer_->header().measured = measure_error(*writer_, predicted, samples, [this] { return stopped(); });
  return {};
}

Result<void> Build::finish() {
  tell(BuildPhase::finishing);
  if (stopped()) return refuse(Errc::io, {}, "interrupted");
  if (!options_.allow_out.empty()) {
    std::string text = "# Allow rules found while " + options_.output.filename().string() + " was built.\n";
    for (const std::string& rule : allow_rules_) text += rule + '\n';
    if (auto ok = write_text(options_.allow_out, text); !ok) return ok;
  }
  if (auto ok = writer_->commit(); !ok) return ok;
  report_.header = writer_->header();
  return {};
}

}  // namespace

Result<void> build(const BuildOptions& options, BuildReport& report, const OnBuildProgress& progress) {
  return Build(options, report, progress).run();
}

}  // namespace bloomwall::filter
