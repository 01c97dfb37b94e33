// What groups and exceptions cost a request: Decider::decide() of an allowed GET with 20 filters, without groups and
// with 64 of them, each with schedules, without exceptions and with 10,000; the client is in the last. "instructions"
// is of user mode for each decision, where the kernel lets them be counted. Making the policies of all groups anew, as
// a change of a schedule does, is measured beside it.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "filter/file/filter_writer.h"
#include "filter/policy/overrides.h"
#include "proxy/decision/decision.h"
#include "proxy/http/http1_reader.h"

namespace {

using namespace bloomwall;
using namespace bloomwall::proxy;

constexpr int kFilters = 20, kGroups = 64, kExceptions = 10'000;
constexpr std::uint64_t kHosts = 20'000;
constexpr Instant kNow = 1'795'425'000;  // Mon 2026-11-23 09:10 UTC

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "group_bench: %s\n", what.c_str());
  std::exit(1);
}

void make_filter(const std::filesystem::path& file, std::uint8_t series) {
  filter::FilterWriter::Plan plan;
  plan.header.series_key.fill(series);
  plan.header.file_id.fill(series);
  filter::KindCounts& counts = plan.header.kinds[filter::index_of(filter::Kind::suffix)];
  counts.entries = counts.keys = plan.header.hosts = kHosts;
  plan.header.min_labels = plan.header.max_labels = 2;
  plan.hosts = filter::Geometry{.pages = kHosts * 32 / 8 / filter::kPageBytes};
  const filter::KeyMaker keys(plan.header.series_key);
  auto writer = filter::FilterWriter::create(file, std::move(plan));
  require(writer.has_value(), writer ? "" : writer.error().text());
  for (std::uint64_t i = 0; i < kHosts; ++i) {
    (*writer)->hosts()->insert(keys.host("listed" + std::to_string(i) + ".example"), filter::kVariantSuffix);
  }
  require((*writer)->commit().has_value(), "a filter cannot be written");
}

class Site {
 public:
  static const Site& instance() {
    static const Site site;
    return site;
  }
  Edition edition(int groups, int exceptions = 0) const {
    conf::Config settings = settings_;
    for (int i = 0; i < groups; ++i) {
      conf::Group& group = settings.groups.emplace_back();
      group.name = "group" + std::to_string(i);
      group.clients = {"10." + std::to_string(i) + ".0.0/16", "192.0.2." + std::to_string(i)};
      for (int f = 0; f < kFilters; f += 2) {
        group.filters["f" + std::to_string(f)] = {
            .by_schedule = {{"s" + std::to_string(i % 8), conf::Group::Action::monitor}}, .otherwise = {}};
      }
    }
    auto snapshot = make_snapshot(settings, 1);
    require(snapshot.has_value(), snapshot ? "" : snapshot.error().front());
    std::vector<filter::Override> made;
    for (int i = 0; i < exceptions; ++i) {
      filter::Override& one = made.emplace_back();
      one.id = static_cast<std::uint64_t>(i) + 1;
      one.action = i % 2 == 0 ? filter::Override::Action::allow : filter::Override::Action::deny;
      one.entry = "exception" + std::to_string(i) + ".example";
      if (i % 3 == 0) one.group = "group" + std::to_string(i % kGroups);
    }
    return Edition{*std::move(snapshot), policy_->with(std::move(made))}.at(kNow);
  }
  ~Site() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  Site() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bloomwall-bench-XXXXXX").string();
    require(::mkdtemp(pattern.data()) != nullptr, "mkdtemp " + pattern);
    folder_ = pattern;
    filter::PolicySpec spec;
    for (int f = 0; f < kFilters; ++f) {
      const std::string name = "f" + std::to_string(f);
      spec.filters.push_back({.name = name, .file = folder_ / (name + ".bwf"), .delta = {}});
      make_filter(spec.filters.back().file, static_cast<std::uint8_t>(1 + f % 4));
      conf::Filter& configured = settings_.filters.emplace_back();
      configured.name = name;
      configured.file = spec.filters.back().file;
    }
    auto policy = filter::Policy::load(spec, {});
    require(policy.has_value(), "the policy does not load");
    policy_ = *std::move(policy);
    settings_.time_zone = "UTC";
    settings_.access.clients = {"0.0.0.0/0"};
    for (int i = 0; i < 8; ++i) {
      settings_.schedules.push_back({.name = "s" + std::to_string(i),
                                     .times = {"mon-fri 0" + std::to_string(i) + ":00-12:30", "sat,sun"},
                                     .except = {},
                                     .time_zone = {}});
    }
  }
  std::filesystem::path folder_;
  conf::Config settings_;
  PolicyPtr policy_;
};

// Instructions that this thread has executed in user mode; 0 where they cannot be counted.
class Instructions {
 public:
  Instructions() {
    perf_event_attr wanted{};
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.size = sizeof wanted;
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.exclude_kernel = wanted.exclude_hv = 1;
    fd_ = static_cast<int>(::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0));
  }
  std::uint64_t now() const {
    std::uint64_t count = 0;
    return fd_ >= 0 && ::read(fd_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  int fd_ = -1;  // until the process ends
};

// Arguments: groups, exceptions.
void Decide(benchmark::State& state) {
  Decider decider;
  const Edition edition = Site::instance().edition(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  decider.adopt(edition.snapshot, edition.policy, edition.groups);
  HeadLimits limits;
  RequestReader reader(limits);
  const std::string text = "GET http://www.plain.example/a/b/c.html?q=1 HTTP/1.1\r\nHost: www.plain.example\r\n\r\n";
  require(reader.feed(text).has_value(), "the request is not read");
  ClientInfo client;
  client.endpoint = *Endpoint::parse_ip("10.63.0.9", 5000);
  client.listener_rule = &edition.snapshot->listeners.front().address;
  static const Instructions counted;
  const std::uint64_t before = counted.now();
  for (auto _ : state) {
    const Decision decision = decider.decide({reader.head(), client});
    if (decision.act != Decision::Act::forward) state.SkipWithError("the request is not allowed");
  }
  const auto spent = static_cast<double>(counted.now() - before);
  state.counters["instructions"] = spent / static_cast<double>(state.iterations());
}
BENCHMARK(Decide)
    ->ArgNames({"groups", "exceptions"})
    ->Args({0, 0})
    ->Args({1, 0})
    ->Args({kGroups, 0})
    ->Args({0, kExceptions})
    ->Args({kGroups, kExceptions});

void ChangeOfASchedule(benchmark::State& state) {
  const Edition edition = Site::instance().edition(kGroups);
  Instant at = kNow;
  for (auto _ : state) benchmark::DoNotOptimize(edition.at(at += 60).groups.get());
}
BENCHMARK(ChangeOfASchedule)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
