// Insert-and-ask: URLs of some 50 octets, each of them twice, into a set that answers whether it is new. In the same
// run, over the same texts: the set of seen keys, one at a time and many at once (as bw_seen_add and bw_seen_add_many
// do it, the hashing of octets included), by one thread and by several; std::unordered_set of 64-bit hashes, as large
// as it grows and with room made beforehand; and Debian's libbloom at the same error, where it is installed. The two
// others are for one thread.
// Counters: octets a key, and the share of new keys that was taken for seen; `predicted` of the set.
// Sizes: 1e6 keys; more with BLOOMWALL_BENCH_KEYS=50000000 (the set 0.2 GB, the hash sets 2 GB).
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#ifdef BLOOMWALL_HAS_LIBBLOOM
#include <bloom.h>
#endif

#include "filter/seen/seen_set.h"
#include "filter/seen/seen_size.h"

namespace bloomwall::filter {
namespace {

constexpr double kError = 1e-6;

// Text number i, in a buffer of its own.
class Text {
 public:
  explicit Text(std::uint64_t i) {
    constexpr std::string_view kFront = "http://www.example.com/some/path/page-";
    kFront.copy(text_.data(), kFront.size());
    end_ = std::to_chars(text_.data() + kFront.size(), text_.data() + text_.size(), i * 0x9e3779b97f4a7c15).ptr;
  }
  std::string_view octets() const { return {text_.data(), static_cast<std::size_t>(end_ - text_.data())}; }

 private:
  std::array<char, 64> text_;
  char* end_;
};

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgName("keys")->Arg(1'000'000)->UseRealTime();
  if (const char* const wanted = std::getenv("BLOOMWALL_BENCH_KEYS"); wanted != nullptr) {
    b->Arg(std::strtoll(wanted, nullptr, 10));
  }
}

void report(benchmark::State& state, std::uint64_t keys, std::uint64_t fresh, double bytes) {
  state.counters["bytes_a_key"] = bytes / static_cast<double>(keys);
  state.counters["lost"] = 1 - static_cast<double>(fresh) / static_cast<double>(keys);
}

SeenSet make_set(std::uint64_t keys) {
  auto seen = SeenSet::create({.geometry = least_seen_size(keys, kError)});
  if (!seen || !seen->promise({.keys = keys, .error = kError})) std::abort();
  return *std::move(seen);
}

void report_set(benchmark::State& state, const SeenSet& seen, std::uint64_t keys) {
  report(state, keys, seen.counts().keys, static_cast<double>(seen.geometry().bytes()));
  state.counters["predicted"] = seen_error(seen.geometry(), keys);
}

void set_one_by_one(benchmark::State& state) {
  const auto keys = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    SeenSet seen = make_set(keys);
    state.ResumeTiming();
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t i = 0; i < keys; ++i) benchmark::DoNotOptimize(seen.add(seen.place(Text(i).octets())));
    }
    state.PauseTiming();
    report_set(state, seen, keys);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * keys));
}

void add_many(SeenSet& seen, std::uint64_t begin, std::uint64_t end) {
  constexpr std::size_t kAhead = 24;
  std::array<Place, kAhead> waiting{};
  for (std::uint64_t i = begin; i < end; ++i) {
    const Place place = seen.place(Text(i).octets());
    seen.prefetch(place);
    if (i - begin >= kAhead) benchmark::DoNotOptimize(seen.add(waiting[(i - begin) % kAhead]));
    waiting[(i - begin) % kAhead] = place;
  }
  for (std::uint64_t i = end - std::min<std::uint64_t>(end - begin, kAhead); i < end; ++i) {
    benchmark::DoNotOptimize(seen.add(waiting[(i - begin) % kAhead]));
  }
}

// Each thread adds its part of the texts, and then that of its neighbour.
void set_many_at_once(benchmark::State& state) {
  const auto keys = static_cast<std::uint64_t>(state.range(0));
  static std::optional<SeenSet> shared;
  const auto threads = static_cast<std::uint64_t>(state.threads());
  const auto part = [&](std::uint64_t number) { return keys * (number % threads) / threads; };
  const auto own = static_cast<std::uint64_t>(state.thread_index());
  if (own == 0) shared.emplace(make_set(keys));
  for (auto _ : state) {
    for (const std::uint64_t number : {own, own + 1}) {
      add_many(*shared, part(number), number % threads + 1 == threads ? keys : part(number + 1));
    }
  }
  if (own != 0) return;
  report_set(state, *shared, keys);
  state.SetItemsProcessed(static_cast<std::int64_t>(2 * keys));
  shared.reset();
}

enum class Room : std::uint8_t { grows, made };

template <Room kRoom>
void hash_set(benchmark::State& state) {
  const auto keys = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    auto seen = std::make_unique<std::unordered_set<std::uint64_t>>();
    if (kRoom == Room::made) seen->reserve(keys);
    state.ResumeTiming();
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t i = 0; i < keys; ++i) {
        const Text text(i);
        benchmark::DoNotOptimize(seen->insert(XXH3_64bits(text.octets().data(), text.octets().size())).second);
      }
    }
    state.PauseTiming();
    constexpr double kNode = 32;  // next, value, and what malloc adds
    report(state, keys, seen->size(),
           kNode * static_cast<double>(seen->size()) + static_cast<double>(sizeof(void*) * seen->bucket_count()));
    seen.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * keys));
}

#ifdef BLOOMWALL_HAS_LIBBLOOM
void libbloom(benchmark::State& state) {
  const auto keys = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    ::bloom filter{};
    if (bloom_init(&filter, static_cast<int>(keys), kError) != 0) std::abort();
    std::uint64_t fresh = 0;
    state.ResumeTiming();
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t i = 0; i < keys; ++i) {
        const Text text(i);
        fresh += bloom_add(&filter, text.octets().data(), static_cast<int>(text.octets().size())) == 0 ? 1U : 0U;
      }
    }
    state.PauseTiming();
    report(state, keys, fresh, static_cast<double>(filter.bytes));
    bloom_free(&filter);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * keys));
}
BENCHMARK(libbloom)->Apply(sizes);
#endif

BENCHMARK(set_one_by_one)->Apply(sizes);
BENCHMARK(set_many_at_once)->Apply(sizes)->Iterations(1)->Threads(1)->Threads(2)->Threads(4);
BENCHMARK(hash_set<Room::grows>)->Apply(sizes);
BENCHMARK(hash_set<Room::made>)->Apply(sizes);

}  // namespace
}  // namespace bloomwall::filter

BENCHMARK_MAIN();
