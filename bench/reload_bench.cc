// What a reload costs, by what changed, over files as a gateway has them: a signed filter, served from the file itself,
// beside a delta of N entries. Times are of FilterStore::load() alone: no configuration, no workers.
//   nothing, allow    nothing changed; a line more in the allow list
//   append            a line more at the end of the delta, which is read and digested, and parsed from that line on
//   delta             a line of the delta changed in the middle: all of it is parsed
//   filter            another filter file, verified in full on all processors
// BLOOMWALL_BENCH_FILTER_MB=1000 BLOOMWALL_BENCH_DELTA=1000000 make it what README.md tells of; else it is small.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "filter/file/filter_writer.h"
#include "filter/file/signature.h"
#include "filter/policy/delta_signature.h"
#include "filter/policy/filter_store.h"

namespace {

using namespace bloomwall::filter;

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const std::uint64_t kFilterBytes = number_of("BLOOMWALL_BENCH_FILTER_MB", 80) * 1'000'000;
const std::uint64_t kDeltaEntries = number_of("BLOOMWALL_BENCH_DELTA", 10'000);

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "reload_bench: %s\n", what.c_str());
  std::exit(1);
}

// The files of one gateway, in a temporary folder; and the policy that is served.
class Site {
 public:
  static Site& instance() {
    static Site site;
    return site;
  }
  ~Site() {
    served_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void reload() {
    auto policy = store_.load(spec_, {.make_resident = true, .own_copies = true, .progress = {}});
    require(policy.has_value(), policy ? "" : policy.error().front().text());
    served_ = *std::move(policy);
  }
  void add_to_allow_list() {
    write(spec_.allow_lists.front(), allowed_ += "ok" + std::to_string(++lines_) + ".example\n");
  }
  void append_to_delta() { write_delta(changes_ += "+S more" + std::to_string(++lines_) + ".example\n"); }
  void change_delta() {
    char& digit = changes_[changes_.find(".example", changes_.size() / 2) - 1];  // of a name
    digit = digit == '0' ? '1' : '0';
    write_delta(changes_);
  }
  void replace_filter() {
    const auto& file = spec_.filters.front().file;
    std::filesystem::copy_file(file, folder_ / "next", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(folder_ / "next", file);
  }

 private:
  Site() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bloomwall-bench-XXXXXX").string();
    require(::mkdtemp(pattern.data()) != nullptr, "mkdtemp " + pattern);
    folder_ = pattern;
    FilterSpec& filter = spec_.filters.emplace_back();
    filter.name = "large";
    filter.file = folder_ / "large.bwf";
    filter.delta = folder_ / "large.delta";
    filter.public_key = folder_ / "a.pub";
    spec_.allow_lists = {folder_ / "allow.txt"};
    require(key_.write(folder_ / "a.key", filter.public_key).has_value(), "no key");
    make_filter();
    for (std::uint64_t i = 0; i < kDeltaEntries; ++i) changes_ += "+S changed" + std::to_string(i) + ".example\n";
    write_delta(changes_);
    write(spec_.allow_lists.front(), allowed_);
    reload();
  }
  void make_filter() {
    const auto& file = spec_.filters.front().file;
    FilterWriter::Plan plan;
    KindCounts& counts = plan.header.kinds[index_of(Kind::suffix)];
    counts.entries = counts.keys = plan.header.hosts = 1;
    plan.header.min_labels = plan.header.max_labels = 2;
    plan.hosts = Geometry{.pages = kFilterBytes / kPageBytes};
    const KeyMaker keys(plan.header.series_key);
    auto writer = FilterWriter::create(file, std::move(plan));
    require(writer.has_value(), writer ? "" : writer.error().text());
    (*writer)->hosts()->insert(keys.host("listed.example"), kVariantSuffix);
    require((*writer)->commit().has_value(), "the filter cannot be written");
    require(sign_filter(file, file, key_).has_value(), "the filter cannot be signed");
    content_ = content_id((*FilterFile::open(file))->header());
  }
  void write_delta(const std::string& changes) {
    const auto text = sign_delta(Delta::first_line(content_, ++sequence_) + "\n" + changes, "delta", key_);
    require(text.has_value(), "the delta cannot be signed");
    write(spec_.filters.front().delta, *text);
  }
  void write(const std::filesystem::path& file, const std::string& text) const {
    std::ofstream(folder_ / "next", std::ios::binary) << text;
    std::filesystem::rename(folder_ / "next", file);
  }

  std::filesystem::path folder_;
  const SigningKey key_ = SigningKey::generate();
  FileId content_{};
  PolicySpec spec_;
  std::string changes_, allowed_ = "ok.example\n";
  std::uint64_t lines_ = 0, sequence_ = 0;
  FilterStore store_;
  std::shared_ptr<const Policy> served_;
};

template <typename Change>
void run(benchmark::State& state, Change change) {
  Site& site = Site::instance();
  for (auto _ : state) {
    state.PauseTiming();
    change(site);
    state.ResumeTiming();
    site.reload();
  }
}

BENCHMARK_CAPTURE(run, nothing, [](Site&) {})->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(run, allow, [](Site& site) { site.add_to_allow_list(); })
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(run, append, [](Site& site) { site.append_to_delta(); })
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(run, delta, [](Site& site) { site.change_delta(); })->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(run, filter, [](Site& site) { site.replace_filter(); })->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
