// Inside `build`: one build and its steps. builder.cc has what every build does and those that are collected,
// streamed_build.cc those that are streamed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filter/builder/build_extras.h"
#include "filter/builder/builder.h"
#include "filter/builder/entry_sample.h"
#include "filter/builder/key_collector.h"
#include "filter/builder/range_collector.h"
#include "filter/builder/source_list.h"
#include "filter/file/filter_writer.h"

namespace bloomwall::filter {

class BuildRun {
 public:
  BuildRun(const BuildOptions& options, BuildReport& report, const OnBuildProgress& progress);
  Result<void> run();

 private:
  Result<void> check_options();
  Result<void> identify();
  Result<void> prepare_extras();
  Result<void> measure(FilterDraft& draft) const;  // the error, of the pages as they are now
  Result<void> commit_extras(FilterDraft& draft);
  Result<void> read_like();
  // All lists into a store; what became of them into the report, unless this is not the first time they are read.
  Result<void> read(KeyStore& store, BuildPhase phase, const KeyStream* stream = nullptr);
  Result<void> join_ranges();  // once all lists are read: into networks_ and the summary
  Result<void> judge();
  Result<void> judge_usable() const;
  Result<void> judge_info() const;
  void warn_of_empty_lists();
  Result<void> judge_shrink() const;
  void set_header();
  void set_info();
  Result<void> write_allow_rules() const;

  Result<void> collect();
  Result<void> size_collected();
  void warn_of_error();
  Result<void> write_collected();

  Result<void> estimate();  // and then stream
  Result<void> stream();
  Result<void> size_streamed();
  Result<void> stream_into(FilterDraft& draft);
  Result<void> judge_same_lists(const std::vector<FileIntake>& before) const;
  Result<void> judge_fit() const;
  bool can_read_again() const;

  void tell(BuildPhase phase, const IntakePosition& input = {}) const {
    if (progress_) progress_({.phase = phase, .input = input, .stream = report_.stream});
  }
  std::function<Result<void>(const std::filesystem::path&)> checked_by_sample() const {
    return [this](const std::filesystem::path& file) { return sample_.check(file); };
  }
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }

  const BuildOptions& options_;
  BuildReport& report_;
  const OnBuildProgress& progress_;
  unsigned threads_;
  std::uint64_t ram_bytes_;
  BuildExtras extras_;
  EntrySample sample_;
  RangeCollector ranges_;
  RangeSet networks_;
  std::optional<SourceList> sources_;
  std::unique_ptr<KeyCollector> collector_;
  std::optional<Header> like_;
  Sizing sizing_;
  double allowed_error_ = 1;  // of a streamed build
  IntakePosition position_;   // where reading is
  std::vector<std::string> allow_rules_;
};

tl::unexpected<Error> refuse_build(Errc code, std::string where, std::string what);

}  // namespace bloomwall::filter
