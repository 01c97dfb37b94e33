// Canonicalisation: URLs that are canonical already (both checks, several lengths, and a mixture like real traffic),
// the long way by what makes a URL take it, URLs of 5,000 octets by shape and host (long_url), and hostile URLs. For
// those (--benchmark_filter=Linear) one row runs the same shape at 2, 4, 8 and 16 KiB in turn and gives the best time
// of each: "ratio" is the cost per byte at 16 KiB over that at 2 KiB, about 1 where time is linear and 8 where it is
// quadratic, and does not depend on what else the machine does.
// All inputs are made up. Figures in fast_path.h come from here.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"
#include "filter/url/fast_path.h"

namespace bloomwall::filter {
namespace {

std::string url_of_length(std::size_t size) {
  std::string url = "https://www.example.test/";
  while (url.size() + 9 <= size) url += "section0/";
  while (url.size() < size) url += 'x';
  return url;
}

// Lengths and shapes as in real traffic: 45 octets on average, one in five with a query.
std::vector<std::string> mixture() {
  std::vector<std::string> urls;
  for (unsigned i = 0; i < 4096; ++i) {
    const std::string n = std::to_string(i * 2654435761U % 100000);
    std::string url =
        (i % 3 == 0 ? "http://" : "https://") + std::string(i % 2 == 0 ? "www.site" : "cdn.img.host") + n + ".test/";
    for (unsigned d = i % 4; d > 0; --d) url += "part" + n.substr(0, d + 1) + "/";
    url += i % 7 == 0 ? "" : "page" + n + ".html";
    if (i % 5 == 0) url += "?id=" + n + "&ref=abc";
    urls.push_back(std::move(url));
  }
  return urls;
}

void report(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

template <typename Work>
void over_mixture(benchmark::State& state, Work&& work) {
  const std::vector<std::string> urls = mixture();
  std::size_t next = 0;
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string& url = urls[next++ % urls.size()];
    bytes += url.size();
    benchmark::DoNotOptimize(work(url));
  }
  report(state, bytes);
}

void BM_CanonicalMixture(benchmark::State& state) {
  Canonicaliser canonicaliser;
  over_mixture(state, [&](std::string_view url) { return canonicaliser.url(url).forms.data(); });
}
BENCHMARK(BM_CanonicalMixture);

void BM_CheckMixtureScalar(benchmark::State& state) {
  over_mixture(state, [](std::string_view url) { return fast_path_detail::cut_scalar(url).query; });
}
BENCHMARK(BM_CheckMixtureScalar);

void BM_CheckMixtureAvx2(benchmark::State& state) {
  if (!fast_path_detail::has_avx2()) return state.SkipWithError("no AVX2 here");
  over_mixture(state, [](std::string_view url) { return fast_path_detail::cut_avx2(url).query; });
}
BENCHMARK(BM_CheckMixtureAvx2);

void BM_Canonical(benchmark::State& state) {
  const std::string url = url_of_length(static_cast<std::size_t>(state.range(0)));
  Canonicaliser canonicaliser;
  for (auto _ : state) benchmark::DoNotOptimize(canonicaliser.url(url).forms.data());
  report(state, static_cast<std::size_t>(state.iterations()) * url.size());
}
BENCHMARK(BM_Canonical)->Arg(28)->Arg(45)->Arg(64)->Arg(115)->Arg(318)->Arg(1000)->Arg(8000);

void long_way(benchmark::State& state, const std::string& url) {
  Canonicaliser canonicaliser;
  for (auto _ : state) benchmark::DoNotOptimize(canonicaliser.url(url).forms.data());
  report(state, static_cast<std::size_t>(state.iterations()) * url.size());
  state.counters["ns_per_byte"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(url.size()) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(long_way, upper_case, std::string("http://WWW.Example.test/section/page.html?id=12345"));
BENCHMARK_CAPTURE(long_way, port, std::string("http://www.example.test:8080/section/page.html"));
BENCHMARK_CAPTURE(long_way, escapes_that_stay, std::string("http://www.example.test/a%20file%20of%20mine/page.html"));
BENCHMARK_CAPTURE(long_way, address, std::string("http://192.0.2.1:52451/section/page.html"));
BENCHMARK_CAPTURE(long_way, escapes,
                  std::string("http://www.example.test/a%20file%20of%20mine/page%C3%A9.html?q=%41%26b"));
BENCHMARK_CAPTURE(long_way, dot_segments, std::string("http://www.example.test/a/b/../c/./d//e/../page.html"));
BENCHMARK_CAPTURE(long_way, ambiguous, std::string("http://www.example.test/a/b%2Fc/%252e%252e/d//../page.html"));
BENCHMARK_CAPTURE(long_way, letters_beyond_ascii, std::string("http://b\u00FCcher.example/section/page.html"));

// 5,000 octets of one shape, on a host that the fast path takes, on one with a port, and on an address with a port.
void register_long_urls() {
  constexpr std::size_t kSize = 5000;
  struct Shape {
    const char* name;
    std::string_view begin, piece;
  };
  constexpr std::array kShapes{
      Shape{"one_segment", "/", "abcdefghi"}, Shape{"segments", "", "/section0"},
      Shape{"query", "/page?", "key=word&"},  Shape{"escapes_that_stay", "", "/a%20word"},
      Shape{"escapes", "", "/caf%c3%a9"},     Shape{"escapes_in_query", "/page?", "u=%2Fword&"}};
  constexpr std::array kHosts{std::pair{"name", "http://www.example.test"},
                              std::pair{"port", "http://www.example.test:8080"},
                              std::pair{"address", "http://192.0.2.1:52451"}};
  for (const Shape& shape : kShapes) {
    for (const auto& [name, host] : kHosts) {
      std::string url = host;
      url += shape.begin;
      while (url.size() < kSize) url += shape.piece;
      const std::string row = std::string("long_url/") + shape.name + "/" + name;
      benchmark::RegisterBenchmark(row.c_str(), long_way, url);
    }
  }
}

void BM_DomainEntry(benchmark::State& state) {
  EntryParser parser;
  for (auto _ : state) benchmark::DoNotOptimize(parser.domain("some.domain.example").entries.data());
}
BENCHMARK(BM_DomainEntry);

constexpr std::array<std::size_t, 4> kSizes{2048, 4096, 8192, 16384};

double seconds_for(Canonicaliser& canonicaliser, const std::string& url) {
  const auto begin = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(canonicaliser.url(url).forms.data());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void linear(benchmark::State& state, std::string_view begin, std::string_view piece) {
  std::array<std::string, kSizes.size()> urls;
  std::array<double, kSizes.size()> best{};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    urls[i] = begin;
    while (urls[i].size() < kSizes[i]) urls[i] += piece;
    best[i] = 1;
  }
  Canonicaliser canonicaliser;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) best[i] = std::min(best[i], seconds_for(canonicaliser, urls[i]));
  }
  const auto per_byte = [&](std::size_t i) { return 1e9 * best[i] / static_cast<double>(urls[i].size()); };
  state.counters["ns_per_byte_2k"] = per_byte(0);
  state.counters["ns_per_byte_16k"] = per_byte(kSizes.size() - 1);
  state.counters["ratio"] = per_byte(kSizes.size() - 1) / per_byte(0);
}
BENCHMARK_CAPTURE(linear, nested_percent, "http://h.test/%", "25")->Name("Linear/nested_percent");
BENCHMARK_CAPTURE(linear, escaped_percents, "http://h.test/", "%25")->Name("Linear/escaped_percents");
BENCHMARK_CAPTURE(linear, half_escapes, "http://h.test/", "%2%35")->Name("Linear/half_escapes");
BENCHMARK_CAPTURE(linear, all_readings, "http://h.test/", "%252f//..")->Name("Linear/all_readings");
BENCHMARK_CAPTURE(linear, dot_dots, "http://h.test/", "a/../")->Name("Linear/dot_dots");
BENCHMARK_CAPTURE(linear, deep_then_up, "http://h.test/", "a//..%2f")->Name("Linear/deep_then_up");
BENCHMARK_CAPTURE(linear, slashes, "http://h.test/a", "//")->Name("Linear/slashes");
BENCHMARK_CAPTURE(linear, backslashes, "http://h.test/a/..", "\\\\")->Name("Linear/backslashes");
BENCHMARK_CAPTURE(linear, query, "http://h.test/?", "%25")->Name("Linear/query");
BENCHMARK_CAPTURE(linear, dots, "http://", ".")->Name("Linear/host_dots");
BENCHMARK_CAPTURE(linear, labels, "http://", "a.")->Name("Linear/host_labels");
BENCHMARK_CAPTURE(linear, numbers, "http://", "1.")->Name("Linear/host_numbers");
BENCHMARK_CAPTURE(linear, host_escapes, "http://", "%252525")->Name("Linear/host_escapes");
BENCHMARK_CAPTURE(linear, colons, "http://", ":")->Name("Linear/host_colons");
BENCHMARK_CAPTURE(linear, ats, "http://", "a@")->Name("Linear/host_ats");
BENCHMARK_CAPTURE(linear, letters, "http://", "\u00E9\u65E5\u0436")->Name("Linear/host_letters");
BENCHMARK_CAPTURE(linear, letter_labels, "http://", "-\u00E9\u65E5\u0436-.")->Name("Linear/host_letter_labels");

}  // namespace
}  // namespace bloomwall::filter

int main(int argc, char** argv) {
  bloomwall::filter::register_long_urls();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
