// Known-good lists, the exact side and the measured error of builds that stream: in several rounds, from lists that are
// read twice, beside a build in memory of the same pages.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "filter/builder/build_extras.h"
#include "filter/builder/builder.h"
#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class StreamedExtrasTest : public testing::Test {
 protected:
  static constexpr int kUrls = 30'000, kGood = 6000;
  static std::string url(int i) { return fmt::format("http://h{}.example/a{}/{}", i / 100, i, i % 3 == 0 ? "" : "b"); }
  static std::string good_url(int i) { return fmt::format("http://h{}.example/x{}/y?q", i % (kUrls / 100), i); }
  StreamedExtrasTest() {
    std::string text;
    for (int i = 0; i < kUrls; ++i) text += url(i) + '\n';
    for (int i = 0; i < 500; ++i) text += url(i) + '\n';  // once more
    list_ = dir_.write("list", text).string();
    text = "# known to be good\n";
    for (int i = 0; i < kGood; ++i) text += good_url(i) + '\n';
    for (int i = 0; i < 100; ++i) text += url(i * 7) + '\n';  // listed all the same
    good_ = dir_.write("good", text).string();
  }
  std::filesystem::path at(const std::string& name) const { return dir_.path() / name; }
  std::string bytes(const std::string& name) const {
    std::ifstream in(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  BuildOptions options(const std::string& name) {
    BuildOptions o;
    o.output = at(name);
    o.lists = {list_};
    o.known_good = {good_};
    o.exact_side = true;
    o.target.fpr = 0.03;
    o.threads = 2;
    o.ram_bytes = std::uint64_t{64} << 20;
    o.identity = {
        .series_key_file = dir_.write("key", std::string(64, '7')), .file_id = FileId{5}, .created = 1, .sequence = 1};
    return o;
  }
  BuildOptions streamed(const std::string& name) {
    BuildOptions o = options(name);
    o.expected = PlanRequest{.entries = kUrls, .hosts = kUrls / 100, .kinds = {0, 0, 0, 67, 0, 33, 0}};
    return o;
  }
  BuildReport built(const BuildOptions& o) {
    BuildReport report;
    const auto done = build(o, report);
    EXPECT_TRUE(done.has_value()) << done.error().text();
    return report;
  }
  // Of what is listed, every URL is confirmed; of what is known to be good, nothing is stopped.
  void expect_right(const std::string& name) {
    const auto file = FilterFile::open(at(name + ".bwf")).value();
    const auto exact = ExactSide::open(at(name + ".bwx"), file->header().exact_root).value();
    EXPECT_EQ(exact->header().fingerprints, std::uint64_t{kUrls}) << "each once";
    const FilterQuery bits(*file);
    const FilterQuery both(*file, nullptr, exact.get());
    for (int i = 0; i < kUrls; ++i) {
      const auto match = both.url(canonicaliser_.url(url(i)));
      ASSERT_TRUE(match && match->confirmed) << url(i);
    }
    for (int i = 0; i < kGood; ++i) ASSERT_FALSE(bits.url(canonicaliser_.url(good_url(i)))) << good_url(i);
    int strangers = 0;
    for (int i = kGood; i < 2 * kGood; ++i) {
      const std::string text = good_url(i);  // borrowed by its canonical form
      const CanonicalUrl& stranger = canonicaliser_.url(text);
      strangers += bits.url(stranger) ? 1 : 0;
      ASSERT_FALSE(both.url(stranger)) << "refuted";
    }
    EXPECT_GT(strangers, 20) << "the test needs a filter that errs";
    EXPECT_GT(file->exceptions().size(), 20U);
    EXPECT_TRUE(file->verify(FilterFile::Depth::tampering).has_value());
  }
  test::TempDir dir_;
  std::string list_, good_;
  Canonicaliser canonicaliser_;
};

TEST_F(StreamedExtrasTest, ExceptionsAndExactSideAreThoseOfABuildInMemory) {
  const BuildReport collected = built(options("collected.bwf"));
  ASSERT_FALSE(collected.streamed);
  BuildOptions like = options("streamed.bwf");
  like.like = at("collected.bwf");
  const BuildReport report = built(like);
  ASSERT_TRUE(report.streamed);
  expect_right("streamed");
  EXPECT_TRUE(bytes("streamed.bwx") == bytes("collected.bwx"));
  const auto one = FilterFile::open(at("collected.bwf")).value(), other = FilterFile::open(at("streamed.bwf")).value();
  const auto a = one->section_bytes(SectionType::exceptions), b = other->section_bytes(SectionType::exceptions);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  EXPECT_THAT(report.notes, testing::ElementsAreArray(collected.notes));
  EXPECT_THAT(report.notes, SizeIs(2));
}

TEST_F(StreamedExtrasTest, EqualBytesInSeveralRounds) {
  built(streamed("once.bwf"));
  expect_right("once");
  BuildOptions little = streamed("rounds.bwf");
  little.threads = 1;
  BuildReport report;
  for (little.ram_bytes = std::uint64_t{8} << 20; little.ram_bytes < std::uint64_t{48} << 20;
       little.ram_bytes += 50'000) {  // a quarter of it is the exact side's
    report = {};
    if (build(little, report)) break;
  }
  EXPECT_GE(report.stream.rounds, 2U) << little.ram_bytes;
  EXPECT_TRUE(bytes("rounds.bwf") == bytes("once.bwf"));
  EXPECT_TRUE(bytes("rounds.bwx") == bytes("once.bwx"));
}

TEST_F(StreamedExtrasTest, ListsThatAreReadTwiceAreSeenRight) {
  std::string text;
  for (int i = 0; i < 250'000; ++i) text += url(i) + '\n';
  BuildOptions o = options("twice.bwf");
  o.lists = {dir_.write("long", text).string()};
  o.target.fpr = 1e-3;
  o.threads = 1;
  o.ram_bytes = 10'000'000;
  std::vector<BuildPhase> phases;
  BuildReport report;
  const auto done = build(o, report, [&](const BuildProgress& p) { phases.push_back(p.phase); });
  ASSERT_TRUE(done.has_value()) << done.error().text();
  EXPECT_THAT(phases, Contains(BuildPhase::estimating)) << "else the test has missed its case";
  const auto file = FilterFile::open(o.output).value();
  const auto exact = ExactSide::open(exact_side_of(o.output), file->header().exact_root).value();
  EXPECT_EQ(exact->header().fingerprints, 250'000U);
  for (int i = 0; i < kGood; ++i) ASSERT_FALSE(FilterQuery(*file).url(canonicaliser_.url(good_url(i))));
  for (int i = 0; i < 250'000; i += 70) ASSERT_TRUE(FilterQuery(*file).url(canonicaliser_.url(url(i)))) << url(i);
}

TEST_F(StreamedExtrasTest, InterruptedNeitherFileIsThere) {
  std::atomic<bool> stop = false;
  BuildOptions o = streamed("stopped.bwf");
  o.stop = &stop;
  BuildReport report;
  const auto done = build(o, report, [&](const BuildProgress& p) {
    if (p.phase == BuildPhase::writing) stop = true;
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().what, "interrupted");
  for (const auto& item : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_THAT((std::vector<std::string>{"key", "list", "good"}), Contains(item.path().filename().string()));
  }
}

TEST_F(StreamedExtrasTest, TheErrorIsMeasuredOfThePagesAsInMemory) {
  BuildOptions o = options("collected.bwf");
  o.known_good.clear();
  o.exact_side = false;
  o.samples = 50'000;
  const MeasuredError in_memory = built(o).header.measured;
  o.output = at("streamed.bwf");
  o.like = at("collected.bwf");
  const BuildReport report = built(o);
  EXPECT_TRUE(report.streamed);
  EXPECT_THAT(report.warnings, Not(Contains(HasSubstr("measured"))));
  EXPECT_EQ(report.header.measured.samples, 50'000U);
  EXPECT_GT(report.header.measured.hits, 300U);
  EXPECT_EQ(report.header.measured.hits, in_memory.hits) << "the same questions of the same bits";
  const auto file = FilterFile::open(o.output).value();
  EXPECT_EQ(file->header().measured.hits, in_memory.hits) << "and in the file";
}

TEST_F(StreamedExtrasTest, ByDefaultTheErrorIsMeasuredWhereItSaysSomething) {
  BuildOptions o = streamed("f.bwf");
  const BuildReport often = built(o);
  const double predicted = worst_error(often.header.predicted);
  const auto samples = static_cast<double>(often.header.measured.samples);
  EXPECT_NEAR(samples, 400 / predicted, 2);
  EXPECT_NEAR(static_cast<double>(often.header.measured.hits), 400, 3 * std::sqrt(400.0) + 400 * 0.1);
  o.target.fpr = 1e-6;
  EXPECT_EQ(built(o).header.measured.samples, 0U);
  o.samples = 0;
  o.target.fpr = 0.03;
  EXPECT_EQ(built(o).header.measured.samples, 0U) << "pinned";
}

}  // namespace
}  // namespace bloomwall::filter
