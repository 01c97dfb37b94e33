// bench/ten_billion: the problem bloomwall comes from, solved and shown. Makes up N distinct URLs, builds a filter of
// at most three bytes for each, and proves that no sampled entry is missed and that at most one request in ten thousand
// is judged wrongly, class by class. Writes a page with the figures; ends with 1 where a promise does not hold.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "base/units.h"
#include "bench/ten_billion/proof.h"
#include "bench/ten_billion/result_page.h"
#include "bench/ten_billion/series_source.h"
#include "bench/ten_billion/serving.h"
#include "filter/builder/builder.h"

namespace bloomwall::bench {
namespace {

// A build that is told to stop leaves nothing behind; every later phase may be ended at any time.
std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free);
void ask_to_stop(int signal) {
  stop_asked.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

constexpr std::uint64_t kBytesPerEntry = 3;  // 30e9 for 10^10
// Sketches of counts take as much in a small file as in a large one: room of their own where that would tell.
constexpr std::uint64_t kSmallSeries = 10'000'000, kRoomForSketches = 1 << 20;

std::uint64_t bytes_allowed(std::uint64_t entries) {
  return kBytesPerEntry * entries + (entries < kSmallSeries ? kRoomForSketches : 0);
}
constexpr std::uint64_t kMostResident = 18'000'000'000;
constexpr double kMostSeconds = 3600;

struct Options {
  std::uint64_t scale = 10'000'000'000;
  std::filesystem::path folder = ".";
  std::filesystem::path page;
  std::uint64_t ram = 0;
  std::uint64_t seed = 1;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  bool keep = false;
  bool reuse = false;
  bool swap = false;
};

// Removes the filter at the end unless it is to be kept.
class Product {
 public:
  explicit Product(const Options& options)
      : path_(options.folder / fmt::format("ten-billion-{}-{}.bwf", options.scale, options.seed)),
        keep_(options.keep) {}
  ~Product() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove(path_, ignored);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool keep_;
};

void say(const std::string& text) { fmt::print(stderr, "{}\n", text); }

class Run {
 public:
  explicit Run(const Options& options) : options_(options), series_(options.scale, options.seed), product_(options) {}

  int all(const std::string& command) {
    page_.command = command;
    page_.seed = options_.seed;
    if (!options_.reuse || !std::filesystem::exists(product_.path())) {
      if (!build()) return 2;
    }
    if (!prove()) return 2;
    check();
    if (!serve()) return 2;
    return finish();
  }

 private:
  bool build();
  bool prove();
  void check();
  bool serve();
  bool add(const char* title, const Phase& phase, const filter::Result<ServingResult>& result);
  int finish();
  void end(const Phase& phase) {
    page_.phases.push_back(phase.end());
    const PhaseCost& cost = page_.phases.back();
    say(fmt::format("{}: {:.1f} s, {:.1f} s of CPU, {} resident at most", cost.name, cost.wall_seconds,
                    cost.cpu_seconds, format_bytes(cost.peak_resident)));
  }
  ProofSizes proof_sizes() const {
    // A small list is asked little, so that a run of it is short; less would tell no error of 1e-4 from none.
    const std::uint64_t most = std::max<std::uint64_t>(500'000, series_.entries());
    return {.sampled = std::min<std::uint64_t>(10'000'000, series_.entries()),
            .unlisted_hosts = std::min<std::uint64_t>(100'000'000, most),
            .listed_hosts = std::min<std::uint64_t>(10'000'000, most),
            .mixed_hosts = std::min<std::uint64_t>(10'000'000, most)};
  }

  Options options_;
  UrlSeries series_;
  Product product_;
  ResultPage page_;
  ProofResult proof_;
  filter::Header header_;
};

bool Run::build() {
  using filter::Kind;
  filter::PlanRequest expected{.entries = series_.entries(), .hosts = series_.path_hosts()};
  for (const Kind kind : filter::kKinds) {
    expected.kinds[filter::index_of(kind)] = static_cast<double>(series_.count(kind));
  }
  filter::BuildOptions build;
  build.output = product_.path();
  build.generated.push_back({.name = fmt::format("{} made-up URLs, seed {}", series_.entries(), options_.seed),
                             .format = filter::Format::urls,
                             .open = [this]() -> filter::Result<std::unique_ptr<filter::BlockSource>> {
                               return std::make_unique<SeriesSource>(series_);
                             }});
  build.expected = expected;
  build.category = "made-up";
  build.target.memory = bytes_allowed(series_.entries());
  build.ram_bytes = options_.ram;
  build.samples = 0;  // proven below, by questions of our own
  const std::filesystem::path key = product_.path().string() + ".key";
  std::ofstream(key) << fmt::format("{:064x}", mix(options_.seed + 1));  // so that equal runs give equal files
  build.identity.series_key_file = key;
  build.threads = options_.threads;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, ask_to_stop);
  build.stop = &stop_asked;
  const Phase phase("build");
  filter::BuildReport report;
  const filter::Result<void> built = filter::build(build, report);
  std::error_code ignored;
  std::filesystem::remove(key, ignored);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  if (!built) say(built.error().text());
  end(phase);
  return built.has_value();
}

bool Run::prove() {
  auto file = filter::FilterFile::open(product_.path());
  if (!file) {
    say(file.error().text());
    return false;
  }
  header_ = (*file)->header();
  {
    const Phase phase("verify every byte");
    const auto whole = (*file)->verify(filter::FilterFile::Depth::accident);
    if (!whole) say(whole.error().text());
    end(phase);
    if (!whole) return false;
  }
  Proof proof(**file, series_, options_.threads);
  const Phase hosts("ask section H");
  proof.ask_hosts(proof_sizes());
  end(hosts);
  const Phase paths("ask section P");
  proof_ = proof.ask_paths();
  end(paths);
  if (!proof_.file_held) say("the filter file failed while it was read");
  return proof_.file_held;
}

void Run::check() {
  const auto promise = [&](std::string what, std::string measured, bool holds) {
    page_.checks.push_back({std::move(what), std::move(measured), holds});
  };
  const auto most_bytes = bytes_allowed(series_.entries());
  promise(fmt::format("at most {} bytes", format_count(most_bytes)), format_count(header_.file_bytes),
          header_.file_bytes <= most_bytes);
  const Rate& found = proof_.sampled.matched;
  promise(fmt::format("all of {} sampled entries found", format_count(found.trials)),
          fmt::format("{} missed", format_count(found.trials - found.hits)), found.hits == found.trials);
  for (const ClassResult& one : proof_.requests) {
    promise(fmt::format("{}: at most {:.0e} wrong", one.name, kPromisedError),
            fmt::format("{:.2e}, at most {:.2e} with 99.5 % certainty", one.matched.value(), one.matched.high()),
            one.matched.high() <= kPromisedError);
  }
  if (page_.phases.front().name != "build") return;
  const PhaseCost& build = page_.phases.front();
  promise(fmt::format("build within {}", format_bytes(kMostResident)), format_bytes(build.peak_resident),
          build.peak_resident <= kMostResident);
  double seconds = 0;
  for (const PhaseCost& phase : page_.phases) seconds += phase.wall_seconds;
  promise("all within 60 minutes", fmt::format("{:.1f} minutes", seconds / 60), seconds <= kMostSeconds);
}

bool Run::serve() {
  constexpr std::uint64_t kVerdicts = 200'000;
  {
    const Phase phase("verdicts");
    if (!add("A verdict", phase, measure_verdicts(product_.path(), series_, kVerdicts))) return false;
  }
  if (!options_.swap) return true;
  const Phase phase("swap");
  return add("Swapping the file under load", phase, measure_swap(product_.path(), series_));
}

bool Run::add(const char* title, const Phase& phase, const filter::Result<ServingResult>& result) {
  end(phase);
  if (!result) {
    say(result.error().text());
    return false;
  }
  page_.more.push_back({title, result->text});
  page_.checks.push_back(
      {fmt::format("{}: every entry blocked", title), result->holds ? "so" : "not so", result->holds});
  return true;
}

int Run::finish() {
  const std::string text = markdown(page_, series_, header_, proof_);
  if (options_.page.empty()) {
    fmt::print("{}", text);
  } else {
    std::ofstream out(options_.page, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
      say(fmt::format("{}: cannot be written", options_.page.string()));
      return 2;
    }
  }
  const bool all_hold = std::all_of(page_.checks.begin(), page_.checks.end(), [](const Check& c) { return c.holds; });
  say(all_hold ? "every promise holds" : "a promise does not hold");
  return all_hold ? 0 : 1;
}

template <typename Parse>
CLI::Validator parsed(Parse parse, const char* expected) {
  return CLI::Validator(
      [parse, expected](std::string& text) {
        const auto value = parse(text);
        if (!value) return fmt::format("'{}' is not {}", text, expected);
        text = std::to_string(*value);
        return std::string();
      },
      "");
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Builds a filter of ten billion made-up URLs and proves what is promised of it.\n"
      "Disk: 3 bytes a URL. Memory: what --ram says and about 2 GB.");
  app.add_option("--scale", options.scale, "URLs; default 10G")
      ->transform(parsed(parse_count, "a whole count such as 5000, 20M or 10G"))
      ->type_name("N");
  app.add_option("--dir", options.folder, "where the filter is written; default: here")->check(CLI::ExistingDirectory);
  app.add_option("--ram", options.ram, "memory for the build; default: what is free, less a reserve")
      ->transform(parsed(parse_bytes, "a size such as 200MB, 30GB or 24GiB"))
      ->type_name("BYTES");
  app.add_option("--seed", options.seed, "another seed is another list; default 1")->type_name("N");
  app.add_option("--threads", options.threads, "default: one a processor")->check(CLI::Range(1, 1024))->type_name("N");
  app.add_option("--page", options.page, "write the page here; default: stdout")->type_name("FILE");
  app.add_flag("--keep", options.keep, "do not remove the filter at the end");
  app.add_flag("--reuse", options.reuse, "prove the filter that an earlier run with --keep left, where there is one");
  app.add_flag("--swap", options.swap, "replace the file by a copy while it is asked; takes its disk space once more");
  CLI11_PARSE(app, argc, argv);
  std::string command = "ten_billion";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  return Run(options).all(command);
}

}  // namespace
}  // namespace bloomwall::bench

int main(int argc, char** argv) { return bloomwall::bench::run(argc, argv); }
