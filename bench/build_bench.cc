// From lines to a filter, entries per second on one core: from plain text and from .zst, step by step.
//   lines_to_keys     split, parse, canonicalise, hash, count in sketches; nothing is stored
//   build_collected   the whole build, all keys held in memory
//   build_streamed    the whole build, keys streamed into a file of known size
// URLs are 64 octets in the mean, 50 a host, a fifth with a query. items_per_second is entries; run with --benchmark_filter.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "filter/build/builder.h"
#include "filter/build/sketching_sink.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kEntries = 200'000;

std::string made_up_text() {
  std::string text;
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    text += fmt::format("http://www.host-{:07}.example.com/folder/{:08x}/page-{:08}{}\n", i / 50, i * 2654435761U % 977,
                        i, i % 5 == 0 ? "?id=1" : "");
  }
  return text;
}

// A folder with the same list twice, made once and removed at the end.
class Lists {
 public:
  Lists() {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    const std::string text = made_up_text();
    std::ofstream(plain(), std::ios::binary) << text;
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    std::ofstream(compressed(), std::ios::binary) << packed;
  }
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;
  ~Lists() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string plain() const { return (folder_ / "urls.txt").string(); }
  std::string compressed() const { return (folder_ / "urls.txt.zst").string(); }
  std::filesystem::path output() const { return folder_ / "out.bwf"; }

 private:
  std::filesystem::path folder_;
};

const Lists& lists() {
  static const Lists made;
  return made;
}

std::string input(const benchmark::State& state) {
  return state.range(0) == 0 ? lists().plain() : lists().compressed();
}

void finish(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kEntries));
  state.SetLabel(state.range(0) == 0 ? "text" : "zst");
}

void lines_to_keys(benchmark::State& state) {
  for (auto _ : state) {
    KeyEstimator store((KeyMaker(SeriesKey{})));
    Intake intake(store, {.threads = 1});
    const auto ok = intake.read(input(state), {});
    if (!ok) return state.SkipWithError(ok.error().text().c_str());
  }
  finish(state);
}
BENCHMARK(lines_to_keys)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void whole_build(benchmark::State& state, bool streamed) {
  for (auto _ : state) {
    BuildOptions options;
    options.output = lists().output();
    options.lists = {input(state)};
    options.threads = 1;
    options.ram_bytes = std::uint64_t{256} << 20;
    options.samples = 0;
    if (streamed) options.expected = PlanRequest{.entries = kEntries, .hosts = {}, .kinds = kUsualKinds, .target = {}};
    options.force = true;
    BuildReport report;
    const auto ok = build(options, report);
    if (!ok) return state.SkipWithError(ok.error().text().c_str());
  }
  finish(state);
}
void build_collected(benchmark::State& state) { whole_build(state, false); }
BENCHMARK(build_collected)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
void build_streamed(benchmark::State& state) { whole_build(state, true); }
BENCHMARK(build_streamed)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bloomwall::filter

BENCHMARK_MAIN();
