// build_counting: one pass over the lists for their keys, from which the sizes follow, and one into the counters.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "filter/builder/key_collector.h"
#include "filter/update/cell_store.h"
#include "filter/update/counting.h"
#include "filter/url/host.h"

namespace bloomwall::filter {
namespace {

tl::unexpected<Error> refuse(Errc code, std::string where, std::string what) {
  return unexpected(Error{code, std::move(where), std::move(what)});
}

// The counting file that is replaced.
Result<std::optional<Header>> replaced_counting(const std::filesystem::path& target) {
  std::error_code error;
  if (!std::filesystem::exists(target, error)) return std::nullopt;
  auto file = FilterFile::open(target, Form::counters);
  if (file) return (*file)->header();
  return refuse(
      file.error().code, target.string(),
      fmt::format("exists and can't be read as a counting filter ({}); it is not replaced", file.error().what));
}

class CountingBuild {
 public:
  CountingBuild(const BuildOptions& options, CountingReport& report)
      : options_(options),
        report_(report),
        threads_(options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency())),
        lists_{.add = options.lists,
               .remove = {},
               .read = options.read,
               .raw = options.raw,
               .allow_unsupported = options.allow_unsupported} {}

  Result<void> run() {
    for (const auto step : {&CountingBuild::identify, &CountingBuild::count_keys, &CountingBuild::size,
                            &CountingBuild::fill, &CountingBuild::finish}) {
      if (auto ok = (this->*step)(); !ok) return ok;
      if (options_.stop != nullptr && options_.stop->load()) return refuse(Errc::io, {}, "interrupted");
    }
    return {};
  }

 private:
  Result<void> identify();
  Result<void> count_keys();
  Result<void> size();
  Result<void> fill();
  Result<void> finish();

  const BuildOptions& options_;
  CountingReport& report_;
  unsigned threads_;
  ChangeLists lists_;
  Header header_;
  Sizing sizing_;
  std::unique_ptr<FilterWriter> writer_;
};

Result<void> CountingBuild::identify() {
  if (options_.lists.empty()) return refuse(Errc::usage, {}, "no list to build from");
  if (std::find(options_.lists.begin(), options_.lists.end(), "-") != options_.lists.end()) {
    return refuse(Errc::usage, "-", "a counting filter reads its lists twice, which standard input can't be");
  }
  auto replaced = replaced_counting(options_.output);
  if (!replaced) return unexpected(std::move(replaced).error());
  auto identity = choose_identity(options_.identity, *replaced);
  if (!identity) return unexpected(std::move(identity).error());
  set_identity(header_, *identity);
  header_.incompatible = kCountersFeature;
  header_.canonical_options = canonical_options(options_);
  report_.warnings = std::move(identity->warnings);
  return {};
}

Result<void> CountingBuild::count_keys() {
  KeyCollector keys(key_maker_of(header_), options_.ram_bytes != 0 ? options_.ram_bytes : default_ram_budget());
  const auto carried = read_into(keys, lists_.add, lists_, threads_, report_.files);
  if (!carried) return unexpected(carried.error());
  report_.exceptions = fit_exceptions(carried->rules, carried->important);
  const KeySummary summary = keys.summary(threads_);
  if (summary.total() == 0) return refuse(Errc::usage, {}, "the lists hold no entry that could be blocked");
  set_counts(header_, summary);
  for (const IngestedFile& file : report_.files) {
    for (std::size_t i = 0; i < kKindCount; ++i) header_.kinds[i].entries += file.report.entries[i];
  }
  header_.converter_options = converter_options(options_);
  header_.unicode_version = unicode_version();
  header_.psl_time = options_.raw ? 0 : public_suffix_time();
  return {};
}

Result<void> CountingBuild::size() {
  FileInfo info{
      .category = options_.category, .builder = "bloomwall-filter " BLOOMWALL_VERSION, .sources = {}, .provenance = {}};
  for (const IngestedFile& file : report_.files) {
    info.sources.push_back({.name = file.report.path,
                            .format = file.format(),
                            .bytes = file.report.text_bytes,
                            .entries = file.report.entry_count(),
                            .sha256 = file.report.stored_digest});
  }
  const auto info_bytes = serialise_info(info);
  if (!parse_info(info_bytes)) {  // found early: not once everything is counted
    return refuse(Errc::limit, options_.output.string(),
                  fmt::format("{} sources are more than the information section holds (16 MiB, 100000 records)",
                              info.sources.size()));
  }
  auto sizing = choose_size({.counts = header_, .info_bytes = info_bytes.size()}, options_.target);
  if (!sizing) return unexpected(std::move(sizing).error());
  sizing_ = *sizing;
  auto writer = FilterWriter::create(options_.output, {.header = header_,
                                                       .hosts = sizing_.sections.hosts,
                                                       .paths = sizing_.sections.paths,
                                                       .raw = sizing_.sections.raw,
                                                       .info = std::move(info),
                                                       .access = options_.access});
  if (!writer) return unexpected(std::move(writer).error());
  writer_ = *std::move(writer);
  return {};
}

Result<void> CountingBuild::fill() {
  CellStore store(sections_of(*writer_, sizing_.sections), header_, CellChange::add);
  std::vector<IngestedFile> again;
  if (auto ok = read_into(store, lists_.add, lists_, threads_, again); !ok) return unexpected(std::move(ok).error());
  for (std::size_t i = 0; i < report_.files.size(); ++i) {
    if (i < again.size() && again[i].report.digest == report_.files[i].report.digest) continue;
    return refuse(Errc::io, report_.files[i].report.path, "changed between the first reading and the second");
  }
  report_.added = store.tally();
  return {};
}

Result<void> CountingBuild::finish() {
  for (const SectionType type : {SectionType::hosts, SectionType::paths, SectionType::raw}) {
    add_cells(report_.cells, count_cells(writer_->pages(type)));
  }
  if (auto ok = writer_->commit(); !ok) return ok;
  report_.header = writer_->header();
  return write_counting_exceptions(options_.output, report_.header, report_.exceptions, options_.access);
}

}  // namespace

Result<void> build_counting(const BuildOptions& options, CountingReport& report) {
  return CountingBuild(options, report).run();
}

}  // namespace bloomwall::filter
