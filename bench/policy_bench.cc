// Policy::judge(): what one request costs, by number of filters and by what is found. Filters of kHosts domains and as
// many URLs each (32 bits a host key, 24 a path key), files in a temporary folder. "allocs" is heap allocations per
// request: 0 wherever nothing matches. All filters list the same, so a listed URL is found in the first of them.
// Times are of the look-up alone unless the name says Canonicalise.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/listed_hosts.h"
#include "filter/policy/policy.h"
#include "filter/url/canonical_url.h"

namespace {
std::atomic<std::uint64_t> allocations = 0;
}

#ifndef BLOOMWALL_SANITIZED  // whose operator new counts nothing
void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace {

using namespace bloomwall::filter;
using bloomwall::bench::make_listed_hosts;
using bloomwall::bench::require;

// Domains, and as many URLs: 500,000 entries; BLOOMWALL_BENCH_HOSTS=50000000 makes it 1e8 (0.6 GB of disk and memory).
const std::uint64_t kHosts = [] {
  const char* const wanted = std::getenv("BLOOMWALL_BENCH_HOSTS");
  return wanted == nullptr ? std::uint64_t{250'000} : std::max<std::uint64_t>(std::strtoull(wanted, nullptr, 10), 1000);
}();

// Policies of so many filters, of one series or of one each; made once, removed at exit.
class Fixture {
 public:
  static Fixture& instance() {
    static Fixture fixture;
    return fixture;
  }
  ~Fixture() {
    policies_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  const Policy& policy(int filters, bool same_series) {
    auto& made = policies_[{filters, same_series}];
    if (!made) made = load(filters, same_series);
    return *made;
  }

 private:
  Fixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bloomwall-bench-XXXXXX").string();
    require(::mkdtemp(pattern.data()) != nullptr, "mkdtemp " + pattern);
    folder_ = pattern;
  }
  std::shared_ptr<const Policy> load(int filters, bool same_series) const {
    PolicySpec spec;
    for (int i = 0; i < filters; ++i) {
      FilterSpec filter;
      filter.name = "f" + std::to_string(i);
      filter.file = folder_ / (std::to_string(i) + (same_series ? "-same" : "-own") + ".bwf");
      if (!std::filesystem::exists(filter.file))
        make_listed_hosts(filter.file, kHosts, static_cast<std::uint8_t>(same_series ? 1 : i + 1));
      spec.filters.push_back(std::move(filter));
    }
    auto policy = Policy::load(spec, {});
    require(policy.has_value(), "a policy does not load");
    return *std::move(policy);
  }
  std::filesystem::path folder_;
  std::map<std::pair<int, bool>, std::shared_ptr<const Policy>> policies_;
};

struct Requests {
  std::vector<std::string> texts;
  std::vector<std::unique_ptr<Canonicaliser>> scratch;
  std::vector<const CanonicalUrl*> urls;
  explicit Requests(const std::string& host, const std::string& rest) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 4096; ++i)
      texts.push_back("http://" + host + std::to_string(random() % kHosts) + ".example" + rest);
    for (const std::string& text : texts) {
      scratch.push_back(std::make_unique<Canonicaliser>());
      urls.push_back(&scratch.back()->url(text));
    }
  }
};

void run(benchmark::State& state, const Requests& requests, bool is_listed) {
  const Policy& policy = Fixture::instance().policy(static_cast<int>(state.range(0)), state.range(1) != 0);
  std::uint64_t blocked = 0, questions = 0, at = 0;
  const std::uint64_t before = allocations.load();
  for (auto _ : state) {
    const Verdict verdict = policy.judge(*requests.urls[at++ % requests.urls.size()]);
    blocked += verdict.decision == Decision::blocked ? 1U : 0U;
    questions += verdict.questions;
  }
  const auto asked = static_cast<double>(state.iterations());
  const std::uint64_t allocated = allocations.load() - before;
  require(blocked != 0 || allocated == 0, "a request that nothing lists must not allocate");
  state.counters["allocs"] = static_cast<double>(allocated) / asked;
  state.counters["questions"] = static_cast<double>(questions) / asked;
  // A handful may be wrong verdicts; anything else means that the benchmark measures the wrong thing.
  const double share = static_cast<double>(blocked) / asked;
  if (is_listed ? share < 1 : share > 0.01) state.SkipWithError("the verdicts are not those expected");
}

void UnlistedHost(benchmark::State& state) {
  static const Requests requests("www.plain", "/a/b/c.html?q=1");
  run(state, requests, false);
}
void ListedHost(benchmark::State& state) {
  static const Requests requests("www.listed", "/a/b/c.html?q=1");
  run(state, requests, true);
}
void UnlistedUrlOnListedHost(benchmark::State& state) {
  static const Requests requests("www.page", "/a/b/c.html?q=1");
  run(state, requests, false);
}
void ListedUrl(benchmark::State& state) {
  static const Requests requests("www.page", "/a/p?q=1");
  run(state, requests, true);
}

void CanonicaliseAndJudgeUnlistedHost(benchmark::State& state) {
  static const Requests requests("www.plain", "/a/b/c.html?q=1");
  const Policy& policy = Fixture::instance().policy(static_cast<int>(state.range(0)), state.range(1) != 0);
  Canonicaliser canonicaliser;
  std::uint64_t at = 0;
  const std::uint64_t before = allocations.load();
  for (auto _ : state) {
    benchmark::DoNotOptimize(policy.judge(canonicaliser.url(requests.texts[at++ % requests.texts.size()])).decision);
  }
  state.counters["allocs"] = static_cast<double>(allocations.load() - before) / static_cast<double>(state.iterations());
}

void HostAlone(benchmark::State& state) {
  static const Requests requests("www.plain", "/");
  const Policy& policy = Fixture::instance().policy(static_cast<int>(state.range(0)), state.range(1) != 0);
  std::uint64_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(policy.judge_host(*requests.urls[at++ % requests.urls.size()]).decision);
  }
}

// Arguments: filters, and whether they are of one series.
void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"filters", "same_series"});
  bench->Args({1, 1});
  bench->Args({8, 1});
  bench->Args({8, 0});
}
void many(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"filters", "same_series"});
  bench->Args({5, 1});
  bench->Args({20, 1});
  bench->Args({20, 0});
}
BENCHMARK(UnlistedHost)->ArgNames({"filters", "same_series"})->Args({0, 1});  // what the machine itself costs
BENCHMARK(UnlistedHost)->Apply(shapes)->Apply(many);
BENCHMARK(ListedHost)->Apply(shapes);
BENCHMARK(UnlistedUrlOnListedHost)->Apply(shapes);
BENCHMARK(ListedUrl)->Apply(shapes);
BENCHMARK(HostAlone)->Apply(shapes);
BENCHMARK(CanonicaliseAndJudgeUnlistedHost)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
