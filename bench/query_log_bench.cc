// The query log: what a row costs on its way to the file, and what questions cost of a day that has
// BLOOMWALL_BENCH_ROWS rows (a million for the figures of README.md; else few).
//   note       a worker tells of a request: to the queue alone
//   append     rows to the file, a thousand a transaction; "octets" of the file for each
//   newest, host, path, client, filter, id      the first page of each, of 200 rows or fewer
// Hosts are drawn so that a few come often and most rarely; one filter has a single row, the oldest one.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "proxy/query_log/day_file.h"
#include "proxy/query_log/request_feed.h"
#include "proxy/query_log/request_search.h"

namespace {

using namespace bloomwall::proxy;

std::uint64_t wanted_rows() {
  const char* const text = std::getenv("BLOOMWALL_BENCH_ROWS");
  return text == nullptr ? 20'000 : std::strtoull(text, nullptr, 10);
}
const std::uint64_t kRows = wanted_rows();
constexpr std::int64_t kDay = 1'793'577'600'000;  // 2026-11-02
constexpr std::uint64_t kHosts = 50'000;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "query_log_bench: %s\n", what.c_str());
  std::exit(1);
}

RequestRow row_of(std::mt19937_64& random, std::uint64_t number) {
  RequestRow row;
  const double share = static_cast<double>(random() >> 11) * 0x1p-53;
  row.at = kDay + static_cast<std::int64_t>(number);
  row.microseconds = 1000;
  row.bytes_sent = random() % 100'000;
  row.bytes_received = 300;
  row.client = fmt::format("10.0.{}.{}", random() % 4, random() % 250);
  row.method = "GET";
  row.host =
      fmt::format("host{}.example{}.test", static_cast<std::uint64_t>(share * share * share * kHosts), random() % 7);
  row.url = fmt::format("http://{}/path/{:x}", row.host, random() % 1'000'000);
  row.status = 200;
  row.reason = "unlisted";
  if (random() % 10 != 0 && number != 0) return row;
  row.decision = RowDecision::blocked;
  row.status = 403;
  row.reason = "listed";
  row.filter = number == 0 ? "rare" : "ads";
  row.expression = "S " + row.host;
  row.id = fmt::format("{:016X}", random());
  return row;
}

// A file of kRows rows, made once.
class Site {
 public:
  static Site& instance() {
    static Site site;
    return site;
  }
  Site() {
    std::string name = (std::filesystem::temp_directory_path() / "bloomwall-bench-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "no temporary folder");
    folder = name;
    auto file = DayFile::open(folder / "2026-11-02.db");
    require(file.has_value(), "no file");
    std::mt19937_64 random(1);
    for (std::uint64_t made = 0; made < kRows;) {
      std::vector<RequestRow> rows;
      while (rows.size() < 1000 && made < kRows) rows.push_back(row_of(random, made++));
      for (const RequestRow& row : rows) id = row.id.empty() ? id : row.id;
      require((*file)->append(rows).has_value(), "cannot append");
    }
  }
  ~Site() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  std::filesystem::path folder;
  std::string id;  // of one of the newest
};

void note(benchmark::State& state) {
  FeedSignals signals;
  RequestFeed feed(signals);
  bloomwall::conf::Config settings;
  settings.query_log.record = bloomwall::conf::QueryLog::Record::all;
  const LogRules rules = *LogRules::compile(settings);
  AccessRecord record;
  record.client = "10.0.0.1";
  record.method = "GET";
  record.host = "host1.example.test";
  record.url = "http://host1.example.test/path/12345";
  for (auto _ : state) {
    feed.note(record, rules);
    const auto row = feed.next();
    feed.done_with(*row);
  }
}
BENCHMARK(note);

void append(benchmark::State& state) {
  std::string name = (std::filesystem::temp_directory_path() / "bloomwall-bench-XXXXXX").string();
  require(mkdtemp(name.data()) != nullptr, "no temporary folder");
  const std::filesystem::path folder = name, path = folder / "2026-11-02.db";
  auto file = DayFile::open(path);
  require(file.has_value(), "no file");
  std::mt19937_64 random(1);
  std::uint64_t made = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<RequestRow> rows;
    while (rows.size() < 1000) rows.push_back(row_of(random, made++));
    state.ResumeTiming();
    require((*file)->append(rows).has_value(), "cannot append");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(made));
  file->reset();
  state.counters["octets"] = static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(made);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
BENCHMARK(append);

void search(benchmark::State& state, const RequestQuery& query, std::size_t least) {
  static_cast<void>(Site::instance());  // before the time is taken
  for (auto _ : state) {
    RequestPage page = search_requests(Site::instance().folder, query, {});
    require(page.rows.size() >= least && page.unreadable.empty(), "rows are missing");
    benchmark::DoNotOptimize(page);
  }
}
void newest(benchmark::State& state) { search(state, {}, 200); }
void host(benchmark::State& state) { search(state, {.host = "host4999"}, 1); }
void any_host(benchmark::State& state) { search(state, {.host = "example3"}, 200); }
void path(benchmark::State& state) { search(state, {.path = "/nowhere"}, 0); }
void client(benchmark::State& state) { search(state, {.client = "10.0.1.7"}, 5); }
void filter(benchmark::State& state) { search(state, {.filter = "rare"}, 1); }
void host_and_client(benchmark::State& state) { search(state, {.host = "host1", .client = "10.0.1.7"}, 0); }
void decision_id(benchmark::State& state) { search(state, {.id = Site::instance().id}, 1); }
BENCHMARK(newest)->Unit(benchmark::kMillisecond);
BENCHMARK(host)->Unit(benchmark::kMillisecond);
BENCHMARK(any_host)->Unit(benchmark::kMillisecond);
BENCHMARK(path)->Unit(benchmark::kMillisecond);
BENCHMARK(client)->Unit(benchmark::kMillisecond);
BENCHMARK(filter)->Unit(benchmark::kMillisecond);
BENCHMARK(host_and_client)->Unit(benchmark::kMillisecond);
BENCHMARK(decision_id)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
