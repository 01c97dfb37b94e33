// Known-good lists and the exact side through a whole build: filters far too small for their lists, so that they err
// often enough to see every error mended, and none of what is listed lost.
// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/build_extras.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "filter/builder/builder.h"
#include "filter/file/signature.h"
#include "filter/policy/explain.h"
#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using testing::Contains;
using testing::HasSubstr;

class BuildExtrasTest : public testing::Test {
 protected:
  BuildExtrasTest() {
    std::string text;
    for (int i = 0; i < 3000; ++i) {
      text += fmt::format("http://h{}.listed.example/a{}/b\n", i % 300, i);
      text += fmt::format("http://h{}.listed.example/d{}/\n", i % 300, i);
      text += fmt::format("http://dom{}.example/\n", i);
    }
    list_ = dir_.write("list", text).string();
  }
  // Of which none is listed, but many a host.
  static std::vector<std::string> unlisted(int count) {
    std::vector<std::string> out;
    for (int i = 0; i < count; ++i) out.push_back(fmt::format("http://h{}.listed.example/x{}/y{}?q", i % 300, i, i));
    for (int i = 0; i < count; ++i) out.push_back(fmt::format("http://good{}.example/", i));
    return out;
  }
  std::string lines(const std::vector<std::string>& urls, const std::string& name) const {
    std::string text = "# known to be good\n\n";
    for (const std::string& url : urls) text += url + '\n';
    return dir_.write(name, text).string();
  }
  BuildReport build_it(std::vector<std::string> known_good, bool exact, const std::string& list = {}) {
    BuildOptions options;
    options.output = output_;
    options.lists = {list.empty() ? list_ : list};
    options.target.fpr = 0.08;
    options.known_good = std::move(known_good);
    options.exact_side = exact;
    options.threads = 2;
    options.samples = 0;
    options.identity.created = 1;
    options.identity.sequence = 1;
    options.identity.file_id = FileId{5};
    options.identity.series_key_file = dir_.write("key", std::string(64, '7'));
    BuildReport report;
    const auto done = build(options, report);
    EXPECT_TRUE(done.has_value()) << done.error().text();
    return report;
  }
  std::size_t hits(const std::vector<std::string>& urls, const FilterQuery& query) {
    std::size_t out = 0;
    for (const std::string& url : urls) {
      if (query.url(canonicaliser_.url(url))) ++out;
    }
    return out;
  }
  std::vector<std::string> listed() const {
    std::vector<std::string> out;
    std::ifstream in(list_);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  test::TempDir dir_;
  std::string list_;
  std::filesystem::path output_ = dir_.path() / "f.bwf";
  Canonicaliser canonicaliser_;
};

TEST_F(BuildExtrasTest, KnownGoodUrlsPassAndNothingListedDoes) {
  const auto good = unlisted(2000);
  build_it({}, false);
  const auto before = FilterFile::open(output_).value();
  const std::size_t wrong = hits(good, FilterQuery(*before));
  EXPECT_GT(wrong, 20U) << "the test needs a filter that errs";
  EXPECT_TRUE(before->exceptions().empty());
  const BuildReport report = build_it({lines(good, "good")}, false);
  const auto after = FilterFile::open(output_).value();
  EXPECT_EQ(hits(good, FilterQuery(*after)), 0U);
  EXPECT_GE(after->exceptions().size(), 20U);
  EXPECT_EQ(hits(listed(), FilterQuery(*after)), listed().size());
  EXPECT_THAT(report.notes, Contains(HasSubstr("known good: 4,000 lines")));
  EXPECT_TRUE(after->verify(FilterFile::Depth::tampering).has_value());
}

// A URL with parameters is asked without them as well, and is good in all of its readings.
TEST_F(BuildExtrasTest, KnownGoodUrlsPassWithTheirParametersToo) {
  std::vector<std::string> good;
  for (int i = 0; i < 2000; ++i) {
    good.push_back(fmt::format("http://h{}.listed.example/x{};v=1/y{};w?q", i % 300, i, i));
  }
  build_it({}, false);
  const auto before = FilterFile::open(output_).value();
  EXPECT_GT(hits(good, FilterQuery(*before)), 20U) << "the test needs a filter that errs";
  build_it({lines(good, "good")}, false);
  const auto after = FilterFile::open(output_).value();
  EXPECT_EQ(hits(good, FilterQuery(*after)), 0U);
  EXPECT_EQ(hits(listed(), FilterQuery(*after)), listed().size());
}

TEST_F(BuildExtrasTest, WhatIsTrulyListedStaysListedWhoeverCallsItGood) {
  build_it({lines(listed(), "good")}, false);
  const auto file = FilterFile::open(output_).value();
  EXPECT_EQ(hits(listed(), FilterQuery(*file)), listed().size());
}

TEST_F(BuildExtrasTest, EqualInputGivesEqualBytes) {
  const auto good = unlisted(500);
  const auto bytes = [this] {
    std::ifstream in(output_, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  build_it({lines(good, "good")}, false);
  const std::string first = bytes();
  build_it({lines(good, "good")}, false);
  EXPECT_TRUE(bytes() == first);
}

TEST_F(BuildExtrasTest, RawKeysHaveExceptionsToo) {
  std::string text;
  std::string good;
  for (int i = 0; i < 40'000; ++i) text += fmt::format("user{}@bad.example\n", i);
  for (int i = 0; i < 5000; ++i) good += fmt::format("friend{}@good.example\n", i);
  BuildOptions options;
  options.output = output_;
  options.lists = {dir_.write("mail", text).string()};
  options.raw = true;
  options.target.fpr = 0.05;
  options.known_good = {dir_.write("friends", good).string()};
  options.exact_side = true;
  BuildReport report;
  const auto done = build(options, report);
  ASSERT_TRUE(done.has_value()) << done.error().text();
  const auto file = FilterFile::open(output_).value();
  EXPECT_GT(file->exceptions().size(), 10U);
  const auto exact = ExactSide::open(exact_side_of(output_), file->header().exact_root).value();
  const FilterQuery bits(*file);
  const FilterQuery both(*file, nullptr, exact.get());
  std::size_t strangers = 0;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_FALSE(bits.raw(fmt::format("friend{}@good.example", i)).has_value()) << i;
    const std::string stranger = fmt::format("stranger{}@other.example", i);
    if (bits.raw(stranger)) ++strangers;
    EXPECT_FALSE(both.raw(stranger).has_value());
    const auto listed = both.raw(fmt::format("user{}@bad.example", i));
    ASSERT_TRUE(listed.has_value());
    EXPECT_TRUE(listed->confirmed);
  }
  EXPECT_GT(strangers, 10U);
}

TEST_F(BuildExtrasTest, TheExactSideRefutesEveryErrorAndConfirmsEveryEntry) {
  build_it({}, true);
  const auto file = FilterFile::open(output_).value();
  const auto exact = ExactSide::open(exact_side_of(output_), file->header().exact_root).value();
  const auto others = unlisted(2000);
  EXPECT_GT(hits(others, FilterQuery(*file)), 20U);
  const FilterQuery query(*file, nullptr, exact.get());
  EXPECT_EQ(hits(others, query), 0U);
  for (const std::string& url : listed()) {
    const auto match = query.url(canonicaliser_.url(url));
    ASSERT_TRUE(match.has_value()) << url;
    EXPECT_TRUE(match->confirmed) << url;
  }
}

TEST_F(BuildExtrasTest, VerdictsSayWhy) {
  const auto good = unlisted(1000);
  const auto others = unlisted(2000);
  build_it({lines(good, "good")}, true);
  PolicySpec spec;
  spec.filters.push_back({.name = "f", .file = output_, .delta = {}, .exact = exact_side_of(output_)});
  const auto policy = Policy::load(spec, {});
  ASSERT_TRUE(policy.has_value());
  std::size_t excepted = 0;
  std::size_t refuted = 0;
  std::string told;
  for (const std::string& url : others) {
    const CanonicalUrl& canonical = canonicaliser_.url(url);
    const Verdict verdict = (*policy)->judge(canonical);
    EXPECT_EQ(verdict.decision, Decision::allowed) << url;
    if (verdict.reason == VerdictReason::exception) ++excepted;
    if (verdict.reason == VerdictReason::refuted) ++refuted;
    if (verdict.reason != VerdictReason::unlisted) told += explain_text(canonical, (*policy)->explain(canonical));
  }
  EXPECT_GT(excepted, 5U);
  EXPECT_GT(refuted, 5U);
  EXPECT_THAT(told, HasSubstr("known to be good (exception)"));
  EXPECT_THAT(told, HasSubstr("refuted by the exact side"));
  const CanonicalUrl& bad = canonicaliser_.url("http://h1.listed.example/a1/b");
  EXPECT_EQ((*policy)->judge(bad).reason, VerdictReason::confirmed);
  EXPECT_EQ((*policy)->judge(bad).decision, Decision::blocked);
  EXPECT_THAT(explain_text(bad, (*policy)->explain(bad)), HasSubstr("confirmed by the exact side"));
}

TEST_F(BuildExtrasTest, AnExactSideOfAnotherBuildIsRefusedAtLoad) {
  build_it({}, true);
  std::filesystem::rename(exact_side_of(output_), dir_.path() / "old.bwx");
  BuildOptions options;
  options.output = output_;
  options.lists = {dir_.write("other.txt", "other.example\n").string()};
  options.exact_side = true;
  options.identity.file_id = (*FilterFile::open(output_))->header().file_id;  // an id proves nothing
  BuildReport report;
  ASSERT_TRUE(build(options, report).has_value());
  PolicySpec spec;
  spec.filters.push_back({.name = "f", .file = output_, .delta = {}, .exact = exact_side_of(output_)});
  EXPECT_TRUE(Policy::load(spec, {}).has_value());
  spec.filters[0].exact = dir_.path() / "old.bwx";
  const auto policy = Policy::load(spec, {});
  ASSERT_FALSE(policy.has_value());
  ASSERT_EQ(policy.error().size(), 1U);
  EXPECT_EQ(policy.error().front().code, Errc::wrong_base);
}

// Killed after the exact side took its place and before the filter did: the filter of before has its own still.
TEST_F(BuildExtrasTest, ABuildKilledBetweenItsTwoFilesLeavesThePairBefore) {
  namespace fs = std::filesystem;
  const fs::path exact = exact_side_of(output_);
  const fs::path former = former_exact_side(exact);
  const fs::path old = dir_.path() / "old.bwf";
  const std::string other = dir_.write("other", "other.example\n").string();
  PolicySpec spec;
  spec.filters.push_back({.name = "f", .file = output_, .delta = {}, .exact = exact});
  const auto place_between = [&](const std::string& list) {  // what such a build leaves
    keep_former_exact_side(output_, exact);
    const fs::path kept = dir_.path() / "kept.bwx";
    fs::copy_file(output_, old, fs::copy_options::overwrite_existing);
    fs::copy_file(former, kept, fs::copy_options::overwrite_existing);
    build_it({}, true, list);
    EXPECT_FALSE(fs::exists(former)) << "of no use any more";
    fs::rename(kept, former);
    fs::rename(old, output_);
  };
  build_it({}, true);
  place_between(other);
  const auto loaded = Policy::load(spec, {});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().front().text();
  const CanonicalUrl& bad = canonicaliser_.url("http://h1.listed.example/a1/b");
  EXPECT_EQ((*loaded)->judge(bad).reason, VerdictReason::confirmed);
  place_between(other);
  EXPECT_TRUE(Policy::load(spec, {}).has_value()) << "killed again: what was kept stays";
  build_it({}, true);
  EXPECT_FALSE(fs::exists(former));
  EXPECT_TRUE(Policy::load(spec, {}).has_value());
  dir_.write("f.bwx.former", "anything");
  place_between(other);
  fs::remove(former);
  const auto refused = Policy::load(spec, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().front().code, Errc::wrong_base);
}

// The signature of the filter covers the root of its exact side; one that is as genuine, but of another build, would
// unlist.
TEST_F(BuildExtrasTest, ASignedFilterSpeaksForItsExactSide) {
  build_it({}, true);
  std::filesystem::copy(exact_side_of(output_), dir_.path() / "mine.bwx");
  const SigningKey key = SigningKey::generate();
  ASSERT_TRUE(key.write(dir_.path() / "k.key", dir_.path() / "k.pub"));
  ASSERT_TRUE(sign_filter(output_, output_, key));
  PolicySpec spec;
  spec.filters.push_back({.name = "f", .file = output_, .delta = {}, .exact = dir_.path() / "mine.bwx"});
  spec.filters[0].public_key = dir_.path() / "k.pub";
  EXPECT_TRUE(Policy::load(spec, {}).has_value());
  BuildOptions other;
  other.output = dir_.path() / "other.bwf";
  dir_.write("other.txt", "another.example\n");
  other.lists = {(dir_.path() / "other.txt").string()};
  other.exact_side = true;
  other.identity.file_id = FilterFile::open(output_).value()->header().file_id;
  BuildReport report;
  ASSERT_TRUE(build(other, report).has_value());
  spec.filters[0].exact = exact_side_of(other.output);
  const auto policy = Policy::load(spec, {});
  ASSERT_FALSE(policy.has_value());
  EXPECT_EQ(policy.error().front().code, Errc::wrong_base);
}

TEST_F(BuildExtrasTest, AKnownGoodListThatCannotBeReadEndsTheBuild) {
  BuildOptions options;
  options.output = output_;
  options.lists = {list_};
  options.known_good = {"/nowhere/good"};
  BuildReport report;
  const auto done = build(options, report);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Errc::io);
  EXPECT_FALSE(std::filesystem::exists(output_));
}

}  // namespace
}  // namespace bloomwall::filter
