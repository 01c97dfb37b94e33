// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "filter/builder/builder.h"
#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::bytes_of;
using test::TempDir;

std::string line(std::uint64_t i) {
  const char* const end = i % 10 < 7 ? "" : i % 10 < 9 ? "?q" : "/";
  return i % 100 == 0 ? fmt::format("http://h{}.example/\n", i)
                      : fmt::format("http://h{}.example/p{}{}\n", i / 50, i, end);
}

// Lines [first, last), in blocks whose order depends on who asks when.
class NumberedLines final : public BlockSource {
 public:
  NumberedLines(std::uint64_t first, std::uint64_t last) : next_(first), last_(last) {}
  Result<bool> next(LineBlock& block) override {
    constexpr std::uint64_t kStep = 500;
    const std::uint64_t begin = next_.fetch_add(kStep);
    block.text.clear();
    for (std::uint64_t i = begin; i < std::min(begin + kStep, last_); ++i) block.text += line(i);
    return begin < last_;
  }
  Position position() const override { return {.done = next_.load(), .total = last_}; }

 private:
  std::atomic<std::uint64_t> next_;
  std::uint64_t last_;
};

GeneratedList lines(std::uint64_t first, std::uint64_t last) {
  return {.name = fmt::format("lines {} to {}", first, last), .open = [=]() -> Result<std::unique_ptr<BlockSource>> {
            return std::make_unique<NumberedLines>(first, last);
          }};
}

class StreamedBuildTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kLines = 40'000;
  BuildOptions options(GeneratedList list, const std::string& name = "out.bwf") {
    BuildOptions o;
    o.output = dir_.path() / name;
    o.generated = {std::move(list)};
    o.identity.series_key_file = dir_.write("key", std::string(64, 'a'));
    o.identity.file_id = FileId{1};
    o.identity.created = 1'700'000'000;
    o.identity.sequence = 1;
    o.threads = 2;
    o.ram_bytes = std::uint64_t{64} << 20;
    return o;
  }
  // Sections of several partitions.
  BuildOptions roomy(GeneratedList list, const std::string& name = "out.bwf") {
    BuildOptions o = options(std::move(list), name);
    o.expected = PlanRequest{.entries = 2'000'000};
    return o;
  }
  static std::string built(const BuildOptions& o, BuildReport& report) {
    const auto ok = build(o, report);
    EXPECT_TRUE(ok) << ok.error().text();
    return ok ? bytes_of(o.output) : std::string();
  }
  static std::string built(const BuildOptions& o) {
    BuildReport report;
    return built(o, report);
  }
  // With the least memory that one thread can work in.
  static std::string built_in_least_memory(BuildOptions o, BuildReport& report) {
    o.threads = 1;
    for (o.ram_bytes = std::uint64_t{4} << 20; o.ram_bytes < std::uint64_t{32} << 20; o.ram_bytes += 20'000) {
      report = {};
      const auto ok = build(o, report);
      if (ok) return bytes_of(o.output);
      EXPECT_EQ(ok.error().code, Errc::limit) << ok.error().text();
    }
    ADD_FAILURE() << "no memory suffices";
    return {};
  }
  TempDir dir_;
};

TEST_F(StreamedBuildTest, HoldsEveryEntryAndEstimatesTheirNumber) {
  BuildReport report;
  built(roomy(lines(0, kLines)), report);
  EXPECT_TRUE(report.streamed);
  EXPECT_EQ(report.stream.rounds, 1U);
  EXPECT_EQ(report.stream.bytes_read, 0U) << "one round only writes";
  const auto file = FilterFile::open(dir_.path() / "out.bwf");
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  EXPECT_EQ((*file)->header().compatible & kEstimatedCounts, kEstimatedCounts);
  const Header& h = (*file)->header();
  EXPECT_NEAR(static_cast<double>(h.kinds[index_of(Kind::url)].keys), kLines * 0.69, kLines * 0.0069);
  EXPECT_NEAR(static_cast<double>(h.kinds[index_of(Kind::suffix)].keys), kLines * 0.01, kLines * 0.0001);
  EXPECT_NEAR(static_cast<double>(h.hosts), kLines * 0.03, kLines * 0.0003);
  EXPECT_EQ(h.max_labels, 2);
  EXPECT_EQ(h.kinds[index_of(Kind::url)].entries, kLines * 69 / 100);
  Canonicaliser canonicaliser;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    std::string url = line(i);
    url.pop_back();
    ASSERT_TRUE(FilterQuery(**file).url(canonicaliser.url(url))) << url;
  }
  int hits = 0;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    hits += FilterQuery(**file).url(canonicaliser.url(fmt::format("http://h{}.example/none{}", i / 50, i))) ? 1 : 0;
  }
  EXPECT_LE(hits, 400) << "those whose host is listed, and none more than by chance";
}

TEST_F(StreamedBuildTest, EqualBytesWhateverThreadsRoundsAndMemory) {
  BuildReport report;
  const std::string once = built(roomy(lines(0, kLines)), report);
  ASSERT_EQ(report.stream.rounds, 1U);
  BuildReport little;
  EXPECT_TRUE(built_in_least_memory(roomy(lines(0, kLines)), little) == once);
  EXPECT_GE(little.stream.rounds, 3U);
  EXPECT_GT(little.stream.bytes_read, 0U);
  BuildOptions many = roomy(lines(0, kLines));
  many.threads = 5;
  EXPECT_TRUE(built(many) == once);
}

TEST_F(StreamedBuildTest, ProgressGoesOnInARoundOnTheCallersThread) {
  const auto caller = std::this_thread::get_id();
  for (const unsigned threads : {1U, 3U}) {
    BuildOptions o = roomy(lines(0, 4 * kLines));
    o.threads = threads;
    std::uint64_t inside = 0;
    BuildReport report;
    const OnBuildProgress progress = [&](const BuildProgress& p) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      if (!p.stream.in_round) return;
      EXPECT_LE(p.stream.parts_done, p.stream.parts);
      EXPECT_EQ(p.stream.parts, 2U);
      ++inside;
      EXPECT_EQ(p.input.name.empty(), p.phase != BuildPhase::streaming);
    };
    const auto ok = build(o, report, progress);
    ASSERT_TRUE(ok) << ok.error().text();
    EXPECT_GE(inside, 1U) << "the last round is the caller's";
  }
}

TEST_F(StreamedBuildTest, SeveralThreadsShareTheRounds) {
  const std::string once = built(roomy(lines(0, kLines)));
  BuildOptions o = roomy(lines(0, kLines));
  o.threads = 3;
  BuildReport report;
  for (o.ram_bytes = std::uint64_t{15} << 20; report.stream.rounds == 0 && o.ram_bytes < std::uint64_t{40} << 20;
       o.ram_bytes += 40'000) {
    report = {};
    if (build(o, report)) break;
  }
  EXPECT_GE(report.stream.rounds, 2U);
  EXPECT_TRUE(bytes_of(o.output) == once);
}

TEST_F(StreamedBuildTest, PagesAreThoseOfACollectedBuildOfTheSameGeometry) {
  BuildReport collected;
  built(options(lines(0, kLines), "collected.bwf"), collected);
  ASSERT_FALSE(collected.streamed);
  BuildOptions o = options(lines(0, kLines));
  o.like = dir_.path() / "collected.bwf";
  o.identity.series_key_file.clear();
  BuildReport streamed;
  built(o, streamed);
  ASSERT_TRUE(streamed.streamed);
  EXPECT_EQ(streamed.header.series_key, collected.header.series_key) << "--like says the series too";
  for (const SectionType type : {SectionType::hosts, SectionType::paths}) {
    ASSERT_NE(streamed.header.find(type), nullptr);
    EXPECT_EQ(streamed.header.find(type)->sha_root, collected.header.find(type)->sha_root) << to_string(type);
  }
  EXPECT_EQ(streamed.header.predicted.path_fill, collected.header.predicted.path_fill);
  EXPECT_EQ(streamed.header.predicted.host_fill, collected.header.predicted.host_fill);
}

TEST_F(StreamedBuildTest, WhatDoesNotFitInMemoryIsReadAgain) {
  BuildOptions o = options(lines(0, 250'000));
  o.target.fpr = 1e-4;
  o.threads = 1;
  o.ram_bytes = 7'500'000;
  std::vector<BuildPhase> phases;
  BuildReport report;
  const auto ok = build(o, report, [&](const BuildProgress& progress) {
    if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
  });
  ASSERT_TRUE(ok) << ok.error().text();
  EXPECT_EQ(phases, (std::vector{BuildPhase::reading, BuildPhase::estimating, BuildPhase::streaming,
                                 BuildPhase::writing, BuildPhase::finishing}));
  EXPECT_TRUE(report.summary.estimated);
  EXPECT_NEAR(static_cast<double>(report.summary.total()), 250'000, 2'500);
  EXPECT_LE(worst_error(report.header.predicted), 1e-4);
  EXPECT_EQ(report.files.size(), 1U);
  EXPECT_EQ(report.files[0].report.entry_count(), 250'000U);
}

TEST_F(StreamedBuildTest, WhatCanBeReadOnceOnlyHasToBeAnnounced) {
  const auto pipe = dir_.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::ofstream out(pipe);
    for (std::uint64_t i = 0; i < 20'000 && out; ++i) out << line(i);
  });
  BuildOptions o = options({});
  o.generated.clear();
  o.lists = {pipe.string()};
  o.ram_bytes = 400'000;
  BuildReport report;
  std::signal(SIGPIPE, SIG_IGN);
  const auto ok = build(o, report);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::limit);
  EXPECT_NE(ok.error().what.find("--entries"), std::string::npos) << ok.error().text();
}

TEST_F(StreamedBuildTest, MoreThanWasExpectedIsRefusedUnlessForced) {
  BuildOptions o = options(lines(0, kLines));
  o.expected = PlanRequest{.entries = kLines / 2};
  BuildReport report;
  const auto ok = build(o, report);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::unmet_target);
  EXPECT_FALSE(std::filesystem::exists(o.output));
  o.force = true;
  BuildReport forced;
  built(o, forced);
  EXPECT_GT(worst_error(forced.header.predicted), kDefaultTarget) << "what it is, not what was hoped for";
}

TEST_F(StreamedBuildTest, ExactlyWhatWasExpectedIsTaken) {
  BuildOptions o = options(lines(0, kLines));
  o.expected =
      PlanRequest{.entries = kLines, .hosts = kLines / 50, .marks = kLines / 50 * 3, .kinds = {1, 0, 0, 69, 20, 10, 0}};
  BuildReport report;
  built(o, report);
  EXPECT_LT(worst_error(report.header.predicted), 1.2 * kDefaultTarget);
}

TEST_F(StreamedBuildTest, KindsWithoutRoomAreRefused) {
  BuildOptions o = options(lines(0, 1000));
  o.expected = PlanRequest{.entries = 1000, .kinds = {1, 0, 0, 0, 0, 0, 0}};
  BuildReport report;
  const auto ok = build(o, report);
  ASSERT_FALSE(ok);
  EXPECT_NE(ok.error().what.find("--kinds"), std::string::npos) << ok.error().text();
  EXPECT_FALSE(std::filesystem::exists(o.output));
}

TEST_F(StreamedBuildTest, RawKeysStreamToo) {
  BuildOptions o = options(lines(0, kLines));
  o.raw = true;
  o.expected = PlanRequest{.entries = kLines};
  BuildReport report;
  built(o, report);
  EXPECT_EQ(report.header.find(SectionType::hosts), nullptr);
  const auto file = FilterFile::open(o.output);
  ASSERT_TRUE(file);
  std::string key = line(777);
  key.pop_back();
  const SectionView raw = (*file)->raw();
  EXPECT_TRUE(raw.test(raw.place((*file)->keys().raw(key))));
}

TEST_F(StreamedBuildTest, TooLittleMemoryIsSaidBeforeAnythingIsRead) {
  BuildOptions o = roomy(lines(0, kLines));
  o.ram_bytes = 1'000'000;
  BuildReport report;
  const auto ok = build(o, report);
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().code, Errc::limit);
  EXPECT_NE(ok.error().what.find("--ram"), std::string::npos) << ok.error().text();
  EXPECT_TRUE(report.files.empty());
}

TEST_F(StreamedBuildTest, StopsWhenToldAndLeavesNothing) {
  std::atomic<bool> stop = false;
  BuildOptions o = roomy(lines(0, kLines));
  o.stop = &stop;
  BuildReport report;
  const auto ok = build(o, report, [&](const BuildProgress& progress) {
    if (progress.phase == BuildPhase::streaming) stop = true;
  });
  ASSERT_FALSE(ok);
  EXPECT_EQ(ok.error().what, "interrupted");
  for (const auto& item : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_EQ(item.path().filename(), "key") << "left behind";
  }
}

}  // namespace
}  // namespace bloomwall::filter
