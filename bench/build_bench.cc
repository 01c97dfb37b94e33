// From lines to a filter, entries per second on one core: from plain text and from .zst, step by step.
//   step_canonical    a line in the cache: its canonical form. Goal: 40 ns
//   step_entry        the same, and the entry that it is
//   step_hash         the hashes of an entry: host, path, key
//   step_keys         line -> canonical -> entry -> all hashes. Goal: 120 ns
//   step_sketch       an entry as a build takes it: host hashed where it is another one, hashes, sketches, nothing
//                     stored
//   step_stage        a key's place, and its record into the row of its partition; rows past the cache into their chunk
//   step_apply        a record's bits into a partition in memory (4, 8 and 32 MiB, both layouts). Goal: 15 ns
//   apply_round       the same through a whole round: 2^22 records into a file of 64 MiB, written back
//   lines_to_keys     split, parse, canonicalise, hash, count in sketches; nothing is stored
//   build_collected   the whole build, all keys held in memory
//   build_streamed    the whole build, keys streamed into a file of known size
// URLs are 64 octets in the mean, 50 a host, a fifth with a query. items_per_second is entries; run with
// --benchmark_filter (steps: --benchmark_filter=step_). All on one thread.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <zstd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "filter/builder/builder.h"
#include "filter/builder/key_sketch.h"
#include "filter/builder/section_rounds.h"
#include "filter/keys/keys.h"

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

// As many lines as stay in a processor's cache.
const std::vector<std::string>& some_lines() {
  static const std::vector<std::string> made = [] {
    constexpr std::size_t kLines = 8192;
    std::vector<std::string> out;
    const std::string text = made_up_text();
    for (std::size_t at = 0; out.size() < kLines;) {
      const std::size_t end = text.find('\n', at);
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }();
  return made;
}

// Work on one line after the other.
template <typename Work>
void each_line(benchmark::State& state, Work&& work) {
  const auto& all = some_lines();
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(work(std::string_view(all[next])));
    next = (next + 1) % all.size();
  }
  state.SetItemsProcessed(state.iterations());
}

void step_canonical(benchmark::State& state) {
  Canonicaliser canonicaliser;
  each_line(state, [&](std::string_view line) { return canonicaliser.url(line).forms.data(); });
}
BENCHMARK(step_canonical);

void step_entry(benchmark::State& state) {
  EntryParser parser;
  each_line(state, [&](std::string_view line) { return parser.url(line).entries.data(); });
}
BENCHMARK(step_entry);

EntryKeys all_keys(const KeyMaker& keys, const Entry& entry) { return keys_of(keys, entry, keys.host(entry.host)); }

void step_keys(benchmark::State& state) {
  EntryParser parser;
  const KeyMaker keys((SeriesKey{}));
  each_line(state, [&](std::string_view line) { return all_keys(keys, parser.url(line).entries.front()); });
}
BENCHMARK(step_keys);

// Work on entries made beforehand, whose texts are those of some_lines().
template <typename Work>
void each_entry(benchmark::State& state, Work&& work) {
  EntryParser parser;
  std::vector<Entry> all;
  for (const std::string& line : some_lines()) all.push_back(parser.url(line).entries.front());
  std::size_t next = 0;
  for (auto _ : state) {
    work(all[next]);
    next = (next + 1) % all.size();
  }
  state.SetItemsProcessed(state.iterations());
}

void step_hash(benchmark::State& state) {
  const KeyMaker keys((SeriesKey{}));
  each_entry(state, [&](const Entry& entry) { benchmark::DoNotOptimize(all_keys(keys, entry)); });
}
BENCHMARK(step_hash);

void step_sketch(benchmark::State& state) {
  SketchingSink sink((KeyMaker(SeriesKey{})));
  each_entry(state, [&](const Entry& entry) { sink.add(entry); });
}
BENCHMARK(step_sketch);

// Keys as good as hashes.
class Keys {
 public:
  Hash128 next() {
    const std::uint64_t lo = word();
    return {.lo = lo, .hi = word()};
  }

 private:
  std::uint64_t word() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_ = 1;
};

// So that no page is missing when it is first written to.
void touch(AnonymousMemory& memory) { std::memset(memory.bytes().data(), 1, memory.bytes().size()); }

void step_stage(benchmark::State& state) {
  const auto partitions = static_cast<std::size_t>(state.range(0));
  constexpr std::uint64_t kPages = std::uint64_t{1} << kPartitionPageBits;
  const Geometry geometry{.pages = partitions * kPages};
  auto memory = AnonymousMemory::make(std::uint64_t{64} << 20);
  if (!memory) return state.SkipWithError(memory.error().text().c_str());
  touch(*memory);
  ChunkPool pool(*std::move(memory), 64, RecordForm::paths, partitions);
  PartitionBuffers buffers(pool, partitions);
  Keys keys;
  for (auto _ : state) {
    const Place place = place_of(geometry, SectionKind::paths, keys.next());
    const std::size_t partition = place.page / kPages;
    if (buffers.add(partition, {.page = place.page % kPages, .fingerprint = place.fingerprint})) continue;
    while (const auto batch = pool.next()) pool.give_back(*batch);
    buffers.hand_over(partition);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(step_stage)->ArgName("partitions")->Arg(16)->Arg(800);

void per_key(benchmark::State& state, std::uint64_t keys) {
  const std::uint64_t all = static_cast<std::uint64_t>(state.iterations()) * keys;
  state.SetItemsProcessed(static_cast<std::int64_t>(all));
  state.counters["per_key"] =
      benchmark::Counter(static_cast<double>(all), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void step_apply(benchmark::State& state) {
  const Geometry geometry{.layout = static_cast<Layout>(state.range(0)), .pages = std::uint64_t{1} << state.range(1)};
  constexpr std::size_t kRecords = std::size_t{1} << 20, kChunk = 8192;
  constexpr std::size_t kRecordBytes = record_bytes(RecordForm::paths);
  auto memory = AnonymousMemory::make(geometry.bytes());
  auto records = AnonymousMemory::make(kRecords * kRecordBytes);
  if (!memory || !records) return state.SkipWithError("no memory");
  touch(*memory);
  Keys keys;
  for (std::size_t i = 0; i < kRecords; ++i) {
    const Place place = place_of(geometry, SectionKind::paths, keys.next());
    put_record(RecordForm::paths, place, records->bytes().data() + i * kRecordBytes);
  }
  SectionWriter section(geometry, memory->bytes().data(),
                        SectionKind::paths);  // its bits are written whatever they were
  std::size_t next = 0;
  for (auto _ : state) {
    insert_records(section, {.bytes = records->bytes().subspan(next * kRecordBytes, kChunk * kRecordBytes)});
    next = (next + kChunk) % kRecords;
  }
  per_key(state, kChunk);
  state.SetLabel(geometry.layout == Layout::sectors_2x8 ? "2x8" : "4x4");
}
BENCHMARK(step_apply)->ArgNames({"layout", "page_bits"})->ArgsProduct({{1, 2}, {10, 11, 13}});

void apply_round(benchmark::State& state) {
  constexpr std::uint64_t kPages = std::uint64_t{1} << 14, kRecords = std::uint64_t{1} << 22;
  constexpr unsigned kPageBits = 11;  // as a build of 25 GB has them
  const Geometry geometry{.layout = static_cast<Layout>(state.range(0)), .pages = kPages};
  auto draft =
      FilterDraft::create(lists().output(), {.header = {}, .hosts = {}, .paths = geometry, .raw = {}, .info = {}});
  auto memory = AnonymousMemory::make(kRecords * record_bytes(RecordForm::paths) * 2);
  if (!draft || !memory) return state.SkipWithError("no memory, or no disk");
  auto file = PagedFile::open(draft->descriptor(), draft->path());
  if (!file) return state.SkipWithError(file.error().text().c_str());
  const Partitions partitions(*draft, kPageBits);
  ChunkPool pool(*std::move(memory), 64, RecordForm::paths, partitions.size());
  SectionRounds rounds(*draft, *file, partitions, pool, 1);
  PartitionBuffers buffers(pool, partitions.size());
  Keys keys;
  constexpr std::uint64_t kInPartition = std::uint64_t{1} << kPageBits;
  for (auto _ : state) {
    state.PauseTiming();
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      const Place place = place_of(geometry, SectionKind::paths, keys.next());
      buffers.add(place.page / kInPartition, {.page = place.page % kInPartition, .fingerprint = place.fingerprint});
    }
    state.ResumeTiming();
    for (bool more = true; more;) {
      const auto applied = rounds.apply_next();
      if (!applied) return state.SkipWithError(applied.error().text().c_str());
      more = *applied;
    }
  }
  per_key(state, kRecords);
  state.SetLabel(geometry.layout == Layout::sectors_2x8 ? "2x8" : "4x4");
}
BENCHMARK(apply_round)->ArgName("layout")->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

void lines_to_keys(benchmark::State& state) {
  for (auto _ : state) {
    KeyEstimator store((KeyMaker(SeriesKey{})));
    Ingest ingest(store, {.threads = 1});
    const auto ok = ingest.read(input(state), {});
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
