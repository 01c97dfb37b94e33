// bw_ask() of libbloomwall against what the proxy does for the same URL, over the same file; and the bulk call. With
// --benchmark_enable_random_interleaving=true the two meet the same moments of the machine. `Unlisted`: hosts that the
// filter does not have; `Listed`: URLs that it has. bench/library_python.py compares Python with these calls.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "bench/listed_hosts.h"
#include "filter/policy/policy.h"
#include "filter/url/canonical_url.h"
#include "include/bloomwall.h"

namespace {

using namespace bloomwall::filter;
using bloomwall::bench::require;

constexpr std::uint64_t kHosts = 250'000;

// One file, opened by both.
class Doors {
 public:
  static Doors& instance() {
    static Doors doors;
    return doors;
  }
  const Policy& policy() const { return *policy_; }
  const bw_policy* opened() const { return opened_; }

 private:
  Doors() {
    std::string folder = (std::filesystem::temp_directory_path() / "bloomwall-bench-XXXXXX").string();
    require(::mkdtemp(folder.data()) != nullptr, "mkdtemp " + folder);
    const std::filesystem::path file = std::filesystem::path(folder) / "hosts.bwf";
    bloomwall::bench::make_listed_hosts(file, kHosts, 1);
    PolicySpec spec;
    spec.filters.push_back({.name = "hosts", .file = file, .delta = {}});
    auto policy = Policy::load(spec, {});
    require(policy.has_value(), "the policy does not load");
    policy_ = *std::move(policy);
    opened_ = bw_open(file.c_str());
    require(opened_ != nullptr, bw_error_text());
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);  // both have it mapped
  }
  ~Doors() { bw_free(opened_); }

  std::shared_ptr<const Policy> policy_;
  bw_policy* opened_ = nullptr;
};

const std::vector<std::string>& texts(bool is_listed) {
  const auto make = [](const std::string& host, const std::string& rest) {
    std::mt19937_64 random(7);
    std::vector<std::string> out;
    for (int i = 0; i < 4096; ++i)
      out.push_back("http://" + host + std::to_string(random() % kHosts) + ".example" + rest);
    return out;
  };
  static const auto unlisted = make("www.plain", "/a/b/c.html?q=1");
  static const auto listed = make("www.page", "/a/p?q=1");
  return is_listed ? listed : unlisted;
}

// Of the last verdicts; anything else than what is expected means that the benchmark measures the wrong thing.
void check(benchmark::State& state, std::uint64_t blocked, bool is_listed) {
  const double share = static_cast<double>(blocked) / static_cast<double>(state.iterations());
  if (is_listed ? share < 1 : share > 0.01) state.SkipWithError("the verdicts are not those expected");
}

void ask_as_the_proxy(benchmark::State& state, bool is_listed) {
  const Policy& policy = Doors::instance().policy();
  const auto& asked = texts(is_listed);
  Canonicaliser canonicaliser;
  std::uint64_t at = 0, blocked = 0;
  for (auto _ : state) {
    const Verdict verdict = policy.judge(canonicaliser.url(asked[at++ % asked.size()]));
    blocked += verdict.decision == Decision::blocked ? 1U : 0U;
  }
  check(state, blocked, is_listed);
}

void ask_the_library(benchmark::State& state, bool is_listed) {
  const bw_policy* const policy = Doors::instance().opened();
  const auto& asked = texts(is_listed);
  bw_answer* const answer = bw_answer_new();
  std::uint64_t at = 0, blocked = 0;
  for (auto _ : state) {
    const std::string& text = asked[at++ % asked.size()];
    blocked += bw_ask(policy, BW_URL, text.data(), text.size(), answer) == BW_BLOCKED ? 1U : 0U;
  }
  bw_answer_free(answer);
  check(state, blocked, is_listed);
}

void TheProxyUnlisted(benchmark::State& state) { ask_as_the_proxy(state, false); }
void TheLibraryUnlisted(benchmark::State& state) { ask_the_library(state, false); }
void TheProxyListed(benchmark::State& state) { ask_as_the_proxy(state, true); }
void TheLibraryListed(benchmark::State& state) { ask_the_library(state, true); }

// Time is that of one line.
void LinesInBulk(benchmark::State& state) {
  const bw_policy* const policy = Doors::instance().opened();
  std::string lines;
  for (const std::string& text : texts(false)) lines.append(text).append("\n");
  std::vector<unsigned char> verdicts(texts(false).size());
  std::size_t count = 0;
  while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(verdicts.size()))) {
    if (bw_ask_lines(policy, BW_URL, lines.data(), lines.size(), verdicts.data(), verdicts.size(), &count) != 0) {
      state.SkipWithError(bw_error_text());
    }
  }
}

BENCHMARK(TheProxyUnlisted);
BENCHMARK(TheLibraryUnlisted);
BENCHMARK(TheProxyListed);
BENCHMARK(TheLibraryListed);
BENCHMARK(LinesInBulk);

}  // namespace

BENCHMARK_MAIN();
