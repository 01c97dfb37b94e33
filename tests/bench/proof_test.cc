// SPDX-License-Identifier: Apache-2.0
#include "bench/ten_billion/proof.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "bench/ten_billion/rate.h"
#include "bench/ten_billion/result_page.h"
#include "filter/file/filter_writer.h"
#include "filter/keys/keys.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::bench {
namespace {

using filter::Kind;

constexpr std::uint64_t kEntries = 40'000;

// The series as a filter, but for the entries that `skip` names.
void write_filter(const std::filesystem::path& file, const UrlSeries& series, const std::set<std::uint64_t>& skip,
                  std::uint64_t path_pages) {
  filter::FilterWriter::Plan plan;
  plan.header.series_key.fill(5);
  plan.header.file_id.fill(5);
  plan.hosts = filter::Geometry{.pages = 4};
  plan.paths = filter::Geometry{.layout = filter::Layout::lines_4x4, .pages = path_pages};
  for (const Kind kind : {Kind::suffix, Kind::url, Kind::url_query, Kind::directory}) {
    auto& counts = plan.header.kinds[filter::index_of(kind)];
    counts.entries = counts.keys = series.count(kind);
  }
  plan.header.marks = series.path_hosts() * 102 / 100;
  plan.header.hosts = series.path_hosts() + series.host_entries();
  plan.header.min_labels = 2;
  plan.header.max_labels = 4;
  plan.header.max_depth = 6;
  plan.header.mark_mask = 0;
  for (const filter::Variant v : {filter::kVariantMarkUrl, filter::kVariantMarkQuery}) plan.header.mark_mask |= 1U << v;
  for (const unsigned depth : {1U, 2U, 3U, 4U, 6U}) plan.header.mark_mask |= 1U << filter::directory_mark(depth);
  const filter::KeyMaker keys(plan.header.series_key);
  auto writer = filter::FilterWriter::create(file, std::move(plan));
  ASSERT_TRUE(writer) << writer.error().text();
  filter::EntryParser parser;
  for (std::uint64_t i = 0; i < series.entries(); ++i) {
    if (skip.count(i) != 0) continue;
    std::string text;
    series.append_entry(i, text);
    const filter::Entry entry = parser.url(text).entries[0];
    const filter::EntryKeys made = keys_of(keys, entry, keys.host(entry.host));
    (*writer)->hosts()->insert(made.host, made.host_variant);
    if (is_path_kind(entry.kind)) (*writer)->paths()->insert(made.key);
  }
  const auto done = (*writer)->commit();
  ASSERT_TRUE(done) << done.error().text();
}

ProofResult prove(const std::filesystem::path& path, const UrlSeries& series, unsigned threads) {
  const auto file = filter::FilterFile::open(path);
  EXPECT_TRUE(file) << file.error().text();
  Proof proof(**file, series, threads);
  proof.ask_hosts({.sampled = kEntries, .unlisted_hosts = 50'000, .listed_hosts = 50'000, .mixed_hosts = 50'000});
  return proof.ask_paths();
}

TEST(ProofTest, FindsEveryEntryAndAsksAsManyQuestionsAsThereAreMarks) {
  const test::TempDir dir;
  const UrlSeries series(kEntries, 3);
  write_filter(dir.path() / "a.bwf", series, {}, 40);
  const ProofResult result = prove(dir.path() / "a.bwf", series, 2);
  EXPECT_TRUE(result.file_held);
  EXPECT_EQ(result.sampled.matched.trials, kEntries);
  EXPECT_EQ(result.sampled.matched.hits, kEntries);
  EXPECT_TRUE(result.missed.empty());
  EXPECT_EQ(result.requests[0].path_questions.percentile(0.99), 0U);
  // One question where there is one mark; one entry in eighty is on a host with four.
  EXPECT_EQ(result.requests[1].path_questions.percentile(0.9), 1U);
  EXPECT_LE(result.requests[1].path_questions.percentile(0.99), 4U);
  EXPECT_NEAR(result.requests[2].path_questions.mean(), 4, 0.01);
  // 4x4 at 33 bits a key errs less than once in a million questions.
  for (const ClassResult& one : result.requests) EXPECT_LT(one.matched.value(), 1e-3) << one.name;
}

TEST(ProofTest, EntriesThatAreMissingAreMissed) {
  const test::TempDir dir;
  const UrlSeries series(kEntries, 3);
  std::set<std::uint64_t> skipped;
  for (std::uint64_t i = 17; skipped.size() < 20; i += 1001) skipped.insert(i);
  write_filter(dir.path() / "a.bwf", series, skipped, 40);
  const ProofResult result = prove(dir.path() / "a.bwf", series, 2);
  EXPECT_EQ(result.sampled.matched.hits, kEntries - skipped.size());
  EXPECT_EQ(result.missed.size(), 10U);
}

TEST(ProofTest, AFilterThatIsTooSmallErrsAndTheErrorIsSeenAlikeByAnyNumberOfThreads) {
  const test::TempDir dir;
  const UrlSeries series(kEntries, 3);
  write_filter(dir.path() / "a.bwf", series, {}, 8);
  const ProofResult one = prove(dir.path() / "a.bwf", series, 1);
  const ProofResult three = prove(dir.path() / "a.bwf", series, 3);
  EXPECT_EQ(one.sampled.matched.hits, kEntries);
  EXPECT_GT(one.requests[1].matched.value(), 0.01);
  EXPECT_GT(one.requests[2].matched.value(), 2 * one.requests[1].matched.value());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(one.requests[i].matched.hits, three.requests[i].matched.hits);
  EXPECT_EQ(one.questions_swept, three.questions_swept);
}

TEST(RateTest, TheIntervalIsWilsons) {
  struct Case {
    std::uint64_t hits, trials;
    double low, high;
  };
  // Worked out by the formula with 50 digits.
  const Case cases[] = {{0, 1'000'000, 0, 6.63485e-6}, {100, 1'000'000, 7.73472e-5, 1.292864e-4}, {1, 1, 0.130978, 1}};
  for (const Case& c : cases) {
    const Rate rate{c.hits, c.trials};
    EXPECT_NEAR(rate.low(), c.low, 1e-5 * rate.high()) << c.hits;
    EXPECT_NEAR(rate.high(), c.high, 1e-5 * rate.high()) << c.hits;
  }
  EXPECT_EQ((Rate{0, 0}.high()), 1);
}

TEST(ResultPageTest, SaysWhatFailed) {
  const UrlSeries series(kEntries, 3);
  ResultPage page;
  page.checks = {{"small", "1 byte", true}, {"right", "wrong", false}};
  const std::string text = markdown(page, series, filter::Header{}, ProofResult{});
  EXPECT_NE(text.find("| small | 1 byte | holds |"), std::string::npos) << text;
  EXPECT_NE(text.find("| right | wrong | **FAILS** |"), std::string::npos) << text;
  EXPECT_NE(text.find("40,000 distinct URLs"), std::string::npos) << text;
}

}  // namespace
}  // namespace bloomwall::bench
