// Inside `build`: what every build does, whichever way its keys take into the file. builder.cc has the two ways.
//   prepare() -> read() -> join_ranges() -> check_lists() -> set_header() -> pages written -> complete() -> commit
// A slice of a build (`of_slice`) ends before pages are written. Its output is no filter file and needs a series
// key; no list, and lists without an entry, are no error; and of `sources` it may hold any part.
// Not thread-safe; one a build.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "filter/builder/build_checks.h"
#include "filter/builder/build_extras.h"
#include "filter/builder/builder.h"
#include "filter/builder/source_list.h"
#include "filter/file/filter_writer.h"
#include "filter/policy/list_exceptions.h"

namespace bloomwall::filter {

struct BuildRun {
  BuildRun(const BuildOptions& build_options, BuildReport& build_report, const OnBuildProgress& on_progress,
           bool of_slice = false);

  // Options, identity of the file, known-good lists.
  Result<void> prepare();
  // All lists into a store; what became of them into the report, unless this is not the first time they are read.
  Result<void> read(KeyStore& store, BuildPhase phase, const KeyStream* stream = nullptr);
  Result<void> join_ranges();  // once all lists are read: into networks and the summary
  // Whether the reports, the summary and the sources allow a filter to be made. Fills the report's info.
  Result<void> check_lists();
  void set_header();                 // the counts and the converter's options
  void warn_of_error(double error);  // that of the sizes, which is compared with the target
  // Once every page is written: measures the error, then adds what the build writes beside the pages. Error io
  // "interrupted" where `stop` says so.
  Result<void> complete(FilterDraft& draft);

  void notify(BuildPhase phase, const IngestPosition& input = {}) const {
    if (progress) progress({.phase = phase, .input = input, .stream = report.stream});
  }
  void warn_now(std::string text) const {
    if (progress) {
      progress(
          {.phase = BuildPhase::streaming, .input = position, .stream = report.stream, .warning = std::move(text)});
    }
  }
  // Of the complete file, before it takes its place: exceptions of the lists are beside that place by then.
  std::function<Result<void>(const std::filesystem::path&)> checked_by_sample() {
    return [this](const std::filesystem::path& file) -> Result<void> {
      if (auto ok = sample.check(file); !ok) return ok;
      if (options.check) {
        const std::string allowed = exceptions_text(options.output, exceptions);
        if (auto ok = options.check({file, extras.exact_side(), allowed}); !ok) return ok;
      }
      beside.emplace(options.output, exceptions, options.access, report.replaced);
      return beside->write(file);
    };
  }
  bool stopped() const { return options.stop != nullptr && options.stop->load(std::memory_order_relaxed); }

  const BuildOptions& options;
  const bool is_slice;
  BuildReport& report;
  const OnBuildProgress& progress;
  unsigned threads;
  std::uint64_t ram_bytes;
  BuildExtras extras;
  EntrySample sample;
  MarkReport marks;  // where options.report_marks asks for it
  RangeCollector ranges;
  RangeSet networks;
  std::optional<SourceList> sources;
  std::optional<Header> like;
  Sizing sizing;
  unsigned most_path_questions = 0;     // as worst_host() takes it
  IngestPosition position;              // where reading is
  std::size_t lists_read = 0;           // before that one
  std::function<void()> on_block = {};  // while lists are read, on the calling thread
  std::vector<std::string> allow_rules;
  ImportantHosts important;
  ListExceptions exceptions;
  std::optional<ExceptionsBeside> beside;  // where the file takes its place

 private:
  Result<void> check_options();
  Result<void> check_outputs() const;
  Result<void> check_inputs_stay(const char* option, const std::filesystem::path& written) const;
  Result<void> identify();
  Result<void> check_like() const;
  Result<void> read_like();
  Result<void> prepare_extras();
  Result<void> check_same_lists(const std::vector<IngestedFile>& again) const;
  void warn_of_empty_lists();
  void warn_of_losses();
  void set_info();
  Result<void> check_info_size() const;
  Result<void> check_usable_share() const;
  Result<void> check_shrink() const;
  Result<void> measure(FilterDraft& draft) const;  // the error, of the pages as they are now
  Result<void> write_allow_rules() const;
  Result<void> write_mark_report() const;
  void note_exceptions();
  Result<void> commit_extras(FilterDraft& draft);
};

tl::unexpected<Error> refuse_build(Errc code, std::string where, std::string what);

}  // namespace bloomwall::filter
