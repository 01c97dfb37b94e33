// Look-ups and insertion per layout: hits and misses, one at a time and in batches that prefetch their first lines.
// Counters: bits and bytes a key, the error measured on the misses and the one predicted. Keys are hashes made
// beforehand, so that what is timed is place and bits; `hash` times the hashing of a URL of 60 bytes.
// Beside them, in the same run and at the same bits a key: Debian's libbloom, where it is installed, and what the
// machine takes for one random line of as much memory, which no filter can do without.
// Sizes: 1e6 keys; more with BLOOMWALL_BENCH_KEYS=100000000 (0.3 GB).
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#ifdef BLOOMWALL_HAS_LIBBLOOM
#include <bloom.h>
#endif

#include "filter/bits/bloom_math.h"

namespace bloomwall::filter {
namespace {

constexpr double kBitsPerKey = 24;

// A SplitMix64 stream as keys: even ones are inserted, odd ones are not.
Hash128 key(std::uint64_t i) {
  const auto mix = [](std::uint64_t v) {
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
    v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
    return v ^ (v >> 31);
  };
  return {.lo = mix(2 * i * 0x9e3779b97f4a7c15), .hi = mix((2 * i + 1) * 0x9e3779b97f4a7c15)};
}

std::uint64_t large_size() {
  const char* const wanted = std::getenv("BLOOMWALL_BENCH_KEYS");
  return wanted == nullptr ? 0 : std::strtoull(wanted, nullptr, 10);
}

// Huge pages where the kernel has them, as a filter that fits in RAM gets.
class Section {
 public:
  Section(Layout layout, std::uint64_t keys, std::uint64_t inserted)
      : geometry_{.layout = layout,
                  .pages = static_cast<std::uint64_t>(static_cast<double>(keys) * kBitsPerKey / (8 * kPageBytes)) + 1} {
    void* const at = mmap(nullptr, geometry_.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    madvise(at, geometry_.bytes(), MADV_HUGEPAGE);
    pages_ = static_cast<std::byte*>(at);
    clear();  // touches every page
    SectionWriter writer(geometry_, pages_, SectionKind::paths);
    for (std::uint64_t i = 0; i < inserted; ++i) writer.insert_exclusive(writer.place(key(2 * i)));
  }
  ~Section() { munmap(pages_, geometry_.bytes()); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  SectionView view() const { return {geometry_, pages_, SectionKind::paths}; }
  SectionWriter writer() { return {geometry_, pages_, SectionKind::paths}; }
  void clear() { std::memset(pages_, 0, geometry_.bytes()); }

 private:
  Geometry geometry_;
  std::byte* pages_ = nullptr;
};

Section& section(Layout layout, std::uint64_t keys) {
  static std::map<std::pair<Layout, std::uint64_t>, std::unique_ptr<Section>> made;
  auto& at = made[{layout, keys}];
  if (!at) at = std::make_unique<Section>(layout, keys, keys);
  return *at;
}

Layout layout_of(const benchmark::State& state) { return static_cast<Layout>(state.range(0)); }
std::uint64_t keys_of(const benchmark::State& state) { return static_cast<std::uint64_t>(state.range(1)); }

void add_counters(benchmark::State& state, const SectionView& view) {
  const double keys = static_cast<double>(keys_of(state));
  state.counters["bytes_per_key"] = static_cast<double>(view.geometry().bytes()) / keys;
  state.counters["fpr_predicted"] = key_error(layout_of(state), SectionKind::paths, keys, view.geometry().pages);
  state.SetItemsProcessed(state.iterations());
}

// Hits come round again, misses are new ones each time.
Hash128 asked_key(const benchmark::State& state, std::uint64_t i) {
  return state.range(2) != 0 ? key(2 * (i % keys_of(state))) : key(2 * i + 1);
}

void look_up(benchmark::State& state) {
  const SectionView view = section(layout_of(state), keys_of(state)).view();
  const bool hits = state.range(2) != 0;
  std::uint64_t i = 0;
  std::uint64_t found = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    found += view.test(view.place(asked_key(state, i++))) ? 1U : 0U;
  }
  if (!hits) state.counters["fpr"] = static_cast<double>(found) / static_cast<double>(i);
  if (hits && found != i) state.SkipWithError("a key that was inserted was not found");
  add_counters(state, view);
}

template <std::size_t N>
void look_up_batch(benchmark::State& state) {
  const SectionView view = section(layout_of(state), keys_of(state)).view();
  const bool hits = state.range(2) != 0;
  std::array<Place, N> places;
  std::uint64_t i = 0;
  std::uint64_t found = 0;
  while (state.KeepRunningBatch(N)) {
    for (Place& place : places) {
      place = view.place(asked_key(state, i++));
      view.prefetch(place);
    }
    for (const Place& place : places) found += view.test(place) ? 1U : 0U;
  }
  if (!hits) state.counters["fpr"] = static_cast<double>(found) / static_cast<double>(i);
  if (hits && found != i) state.SkipWithError("a key that was inserted was not found");
  add_counters(state, view);
}

// Seven questions about one host: S, X, W, the marks of U, Q and D at two depths.
void ask_hosts(benchmark::State& state) {
  const SectionView view = section(layout_of(state), keys_of(state)).view();
  std::array<Place, 16> places;
  std::uint64_t i = 0;
  while (state.KeepRunningBatch(places.size())) {
    for (Place& place : places) {
      place = view.place(key(2 * (i++ % keys_of(state)) + 1));
      view.prefetch(place);
    }
    for (const Place& place : places) benchmark::DoNotOptimize(view.test_variants(place, 0x7f));
  }
  add_counters(state, view);
}

// Sets bits in an empty section of the same size: every bit is new.
template <bool kExclusive>
void insert(benchmark::State& state) {
  const std::uint64_t keys = keys_of(state);
  Section target(layout_of(state), keys, 0);
  SectionWriter writer = target.writer();
  const SectionView view = target.view();
  std::array<Place, 16> places;
  std::uint64_t i = 0;
  while (state.KeepRunningBatch(places.size())) {
    if (i >= keys) {
      state.PauseTiming();
      target.clear();
      i = 0;
      state.ResumeTiming();
    }
    for (Place& place : places) {
      place = view.place(key(i++));
      view.prefetch(place);
    }
    for (const Place& place : places) kExclusive ? writer.insert_exclusive(place) : writer.insert(place);
  }
  add_counters(state, view);
}

// Lines of a section of that size at random, 32 under way at once: nothing is hashed, nothing is tested.
void random_lines(benchmark::State& state) {
  constexpr std::size_t kAtOnce = 32;
  const std::span<const std::byte> bytes = section(layout_of(state), keys_of(state)).view().bytes();
  const std::uint64_t lines = bytes.size() / kLineBytes;
  std::array<const std::byte*, kAtOnce> at{};
  std::uint64_t i = 0;
  while (state.KeepRunningBatch(kAtOnce)) {
    for (const std::byte*& line : at) {
      line = bytes.data() + key(i++).lo % lines * kLineBytes;
      __builtin_prefetch(line);
    }
    for (const std::byte* line : at) {
      std::byte octet = *line;
      benchmark::DoNotOptimize(octet);
    }
  }
  state.SetItemsProcessed(state.iterations());
}

#ifdef BLOOMWALL_HAS_LIBBLOOM
// A filter of libbloom with as many bits a key. Its sizes are ints of bits: some 10^8 keys are the most.
class Libbloom {
 public:
  explicit Libbloom(std::uint64_t keys) {
    constexpr double kLn2 = 0.6931471805599453;
    if (bloom_init(&filter_, static_cast<int>(keys), std::exp(-kBitsPerKey * kLn2 * kLn2)) != 0) std::abort();
    for (std::uint64_t i = 0; i < keys; ++i) add(key(2 * i));
  }
  ~Libbloom() { bloom_free(&filter_); }
  Libbloom(const Libbloom&) = delete;
  Libbloom& operator=(const Libbloom&) = delete;
  void add(const Hash128& key) { bloom_add(&filter_, &key, sizeof key); }
  bool test(const Hash128& key) { return bloom_check(&filter_, &key, sizeof key) == 1; }
  std::size_t bytes() const { return static_cast<std::size_t>(filter_.bytes); }

 private:
  struct bloom filter_{};
};

constexpr std::uint64_t kMostLibbloomKeys = 80'000'000;

Libbloom& libbloom(std::uint64_t keys) {
  static std::map<std::uint64_t, std::unique_ptr<Libbloom>> made;
  auto& at = made[keys];
  if (!at) at = std::make_unique<Libbloom>(keys);
  return *at;
}

void libbloom_look_up(benchmark::State& state) {
  if (keys_of(state) > kMostLibbloomKeys) return state.SkipWithError("more keys than libbloom can count bits for");
  Libbloom& filter = libbloom(keys_of(state));
  const bool hits = state.range(2) != 0;
  std::uint64_t i = 0;
  std::uint64_t found = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    found += filter.test(asked_key(state, i++)) ? 1U : 0U;
  }
  if (!hits) state.counters["fpr"] = static_cast<double>(found) / static_cast<double>(i);
  if (hits && found != i) state.SkipWithError("a key that was inserted was not found");
  state.counters["bytes_per_key"] = static_cast<double>(filter.bytes()) / static_cast<double>(keys_of(state));
  state.SetItemsProcessed(state.iterations());
}

void libbloom_insert(benchmark::State& state) {
  if (keys_of(state) > kMostLibbloomKeys) return state.SkipWithError("more keys than libbloom can count bits for");
  Libbloom& filter = libbloom(keys_of(state));  // that its bits are set already makes it no slower
  std::uint64_t i = 0;
  for (auto unused : state) {
    static_cast<void>(unused);
    filter.add(key(2 * (i++ % keys_of(state))));
  }
  state.SetItemsProcessed(state.iterations());
}
#endif

void hash(benchmark::State& state) {
  const KeyMaker keys(SeriesKey{1});
  std::string host = "www.example.com";
  const Hash128 host_hash = keys.host(host);
  std::string segment = "article-0000000000-with-a-name-of-a-usual-length";
  for (auto unused : state) {
    static_cast<void>(unused);
    ++segment[10];
    benchmark::DoNotOptimize(keys.url(host_hash, keys.segment(segment, keys.empty_path())));
  }
  state.SetItemsProcessed(state.iterations());
}

void fill(benchmark::State& state) {
  const SectionView view = section(layout_of(state), keys_of(state)).view();
  for (auto unused : state) {
    static_cast<void>(unused);
    benchmark::DoNotOptimize(fill_error(layout_of(state), view.bytes()));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(view.bytes().size()));
}

void predict_error(benchmark::State& state) {
  double keys = 1e9;
  for (auto unused : state) {
    static_cast<void>(unused);
    benchmark::DoNotOptimize(key_error(layout_of(state), SectionKind::paths, keys++, 700'000));
  }
}

void add_sizes(benchmark::internal::Benchmark* b, bool hits_too) {
  b->ArgNames(hits_too ? std::vector<std::string>{"layout", "keys", "hit"}
                       : std::vector<std::string>{"layout", "keys"});
  for (const std::int64_t layout : {1, 2}) {
    for (const std::uint64_t keys : {std::uint64_t{1'000'000}, large_size()}) {
      if (keys == 0) continue;
      const auto n = static_cast<std::int64_t>(keys);
      if (hits_too) {
        b->Args({layout, n, 0});
        b->Args({layout, n, 1});
      } else {
        b->Args({layout, n});
      }
    }
  }
}
void hit_and_miss(benchmark::internal::Benchmark* b) { add_sizes(b, true); }
void sizes(benchmark::internal::Benchmark* b) { add_sizes(b, false); }

BENCHMARK(look_up)->Apply(hit_and_miss);
BENCHMARK(look_up_batch<16>)->Apply(hit_and_miss);
BENCHMARK(look_up_batch<32>)->Apply(hit_and_miss);
BENCHMARK(ask_hosts)->Apply(sizes);
BENCHMARK(insert<true>)->Apply(sizes);
BENCHMARK(insert<false>)->Apply(sizes);
BENCHMARK(random_lines)->Apply(sizes);
#ifdef BLOOMWALL_HAS_LIBBLOOM
void libbloom_hit_and_miss(benchmark::internal::Benchmark* b) {
  b->ArgNames({"-", "keys", "hit"});
  for (const std::uint64_t keys : {std::uint64_t{1'000'000}, large_size()}) {
    if (keys == 0) continue;
    for (const std::int64_t hit : {0, 1}) b->Args({0, static_cast<std::int64_t>(keys), hit});
  }
}
BENCHMARK(libbloom_look_up)->Apply(libbloom_hit_and_miss);
BENCHMARK(libbloom_insert)->Apply(libbloom_hit_and_miss);
#endif
BENCHMARK(fill)->Apply(sizes);
BENCHMARK(hash);
BENCHMARK(predict_error)->ArgName("layout")->Arg(1)->Arg(2);

}  // namespace
}  // namespace bloomwall::filter

BENCHMARK_MAIN();
