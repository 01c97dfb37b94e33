// Exceptions through a merge: filters that err often, of slices that were built with and without known-good lists.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "filter/builder/builder.h"
#include "filter/builder/merge.h"
#include "filter/file/filter_file.h"
#include "filter/policy/list_exceptions.h"
#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;

using Lines = std::vector<std::string>;

class MergeExceptionsTest : public testing::Test {
 protected:
  // Of URLs. The first is so large that it errs by itself already.
  static constexpr int kSlices = 3, kFirsts[] = {0, 5000, 5800}, kLasts[] = {5100, 5900, 6600};
  MergeExceptionsTest() {
    for (int slice = 0; slice < kSlices; ++slice) {
      slices_.push_back(write(fmt::format("slice{}", slice), listed(slice)));
    }
    // Most are not listed; some are, and some of those are in two slices.
    Lines good = unlisted();
    for (int slice = 0; slice < kSlices; ++slice) {
      const Lines some = listed(slice);
      good.insert(good.end(), some.begin(), some.begin() + 50);
    }
    good_ = write("good", good);
  }
  static Lines listed(int slice) {
    Lines out;
    for (int i = kFirsts[slice]; i < kLasts[slice]; ++i)
      out.push_back(fmt::format("http://h{}.example/a{}", i % 100, i));
    return out;
  }
  static Lines unlisted() {
    Lines out;
    for (int i = 0; i < 8000; ++i) out.push_back(fmt::format("http://h{}.example/good{}/b", i % 100, i));
    return out;
  }
  std::filesystem::path at(const std::string& name) const { return dir_.path() / name; }
  std::string write(const std::string& name, const Lines& lines) {
    return dir_.write(name, fmt::format("{}\n", fmt::join(lines, "\n"))).string();
  }
  std::string bytes(const std::string& name) const {
    std::ifstream file(at(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  IdentityOptions pinned() const { return {.file_id = FileId{9}, .created = 1, .sequence = 1}; }
  void build_one(const std::string& name, const Lines& lists, const Lines& known_good) {
    BuildOptions o;
    o.output = at(name);
    o.lists = lists;
    o.known_good = known_good;
    o.raw = raw_;
    o.identity = pinned();
    o.identity.series_key_file = dir_.write("key", std::string(64, 'd')).string();
    o.expected = PlanRequest{.entries = 6600, .hosts = raw_ ? 0U : 100U};
    o.target.fpr = 0.08;
    o.threads = 2;
    o.ram_bytes = std::uint64_t{64} << 20;
    BuildReport report;
    const auto done = build(o, report);
    ASSERT_TRUE(done.has_value()) << done.error().text();
  }
  void build_all(const Lines& known_good) {
    build_one("whole", slices_, known_good);
    for (std::size_t i = 0; i < slices_.size(); ++i) build_one(fmt::format("shard{}", i), {slices_[i]}, known_good);
  }
  MergeReport merge_to(const std::string& name, const Lines& inputs, const Lines& known_good) {
    MergeOptions o{.output = at(name), .identity = pinned(), .fpr = 0.08, .provenance = false, .threads = 2};
    for (const std::string& input : inputs) o.inputs.push_back(at(input));
    o.known_good = known_good;
    MergeReport report;
    const auto done = merge(o, report);
    EXPECT_TRUE(done.has_value()) << done.error().text();
    return report;
  }
  // Exceptions as text, so that sets of them are easily compared.
  Lines exceptions(const std::string& name) const {
    Lines out;
    const auto file = FilterFile::open(at(name)).value();
    for (const Exception& e : file->exceptions().all())
      out.push_back(fmt::format("{:x}.{:x}:{:x}", e.key.hi, e.key.lo, e.kinds));
    return out;
  }
  std::size_t hits(const std::string& name, const Lines& urls) {
    const auto file = FilterFile::open(at(name)).value();
    const FilterQuery query(*file);
    return static_cast<std::size_t>(std::count_if(urls.begin(), urls.end(), [&](const std::string& url) {
      return raw_ ? query.raw(url).has_value() : query.url(canonicaliser_.url(url)).has_value();
    }));
  }
  void expect_nothing_lost(const std::string& name) {
    for (int slice = 0; slice < kSlices; ++slice) EXPECT_EQ(hits(name, listed(slice)), listed(slice).size()) << slice;
  }
  test::TempDir dir_;
  Lines slices_;
  std::string good_;
  bool raw_ = false;
  Canonicaliser canonicaliser_;
};

TEST_F(MergeExceptionsTest, AskedAgainShardsInAnyOrderAreTheWholeByteForByte) {
  build_all({good_});
  const std::string whole = bytes("whole");
  ASSERT_GT(exceptions("whole").size(), 20U) << "the test needs a filter that errs";
  Lines names{"shard0", "shard1", "shard2"};
  do {
    merge_to("merged", names, {good_});
    EXPECT_TRUE(bytes("merged") == whole) << names[0] << names[1] << names[2];
  } while (std::next_permutation(names.begin(), names.end()));
  EXPECT_EQ(hits("merged", unlisted()), 0U);
  expect_nothing_lost("merged");
  merge_to("left", {"shard2", "shard0"}, {good_});
  merge_to("merged", {"shard1", "left"}, {good_});
  EXPECT_TRUE(bytes("merged") == whole) << "a merge of a merge";
}

TEST_F(MergeExceptionsTest, NotAskedAgainOnlyWhatFilesHaveIsKeptAndTheReportSaysSo) {
  build_all({good_});
  const MergeReport report = merge_to("merged", {"shard1", "shard0", "shard2"}, {});
  const Lines kept = exceptions("merged");
  EXPECT_GT(kept.size(), 5U);
  EXPECT_LT(kept.size(), exceptions("whole").size()) << "else the warning would have no reason";
  EXPECT_THAT(kept, IsSubsetOf(exceptions("whole")));
  expect_nothing_lost("merged");
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_THAT(report.warnings.front(), HasSubstr("--known-good"));
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_THAT(report.notes.front(), HasSubstr(fmt::format("exceptions: {}, of ", kept.size())));
  const auto merged = FilterFile::open(at("merged")).value();
  EXPECT_TRUE(merged->verify(FilterFile::Depth::tampering).has_value());
}

// The bits of the larger are those of the whole, so its exceptions are, too.
TEST_F(MergeExceptionsTest, NotAskedAgainAFileAndAPartOfItAreTheWholeByteForByte) {
  Lines lines = listed(0);
  lines.resize(1000);
  const std::string part = write("part", lines);
  build_one("whole", {part, slices_[0]}, {good_});
  build_one("large", {slices_[0]}, {good_});
  build_one("part.bwf", {part}, {good_});
  ASSERT_GT(exceptions("whole").size(), 0U);
  for (const Lines& names : {Lines{"large", "part.bwf"}, Lines{"part.bwf", "large"}}) {
    merge_to("merged", names, {});
    EXPECT_TRUE(bytes("merged") == bytes("whole")) << names.front() << " first";
  }
}

TEST_F(MergeExceptionsTest, AFileWithoutExceptionsSpeaksAgainstWhatItTestsPositive) {
  build_all({good_});
  build_one("shard0", {slices_[0]}, {});  // knows of no known-good URL
  merge_to("merged", {"shard0", "shard1", "shard2"}, {good_});
  expect_nothing_lost("merged");
  const std::size_t stopped = hits("merged", unlisted());
  EXPECT_EQ(stopped, hits("shard0", unlisted())) << "by its bits alone a file cannot tell what it lists";
  EXPECT_GT(stopped, 0U);
}

TEST_F(MergeExceptionsTest, AskedForTheFirstTimeWhatNoFileTestsPositiveIsMended) {
  build_all({});
  merge_to("before", {"shard0", "shard1", "shard2"}, {});
  EXPECT_THAT(exceptions("before"), IsEmpty());
  merge_to("merged", {"shard0", "shard1", "shard2"}, {good_});
  EXPECT_LT(hits("merged", unlisted()), hits("before", unlisted()));
  expect_nothing_lost("merged");
}

TEST_F(MergeExceptionsTest, RawKeysHaveThemToo) {
  raw_ = true;
  Lines good;
  for (int i = 0; i < 3000; ++i) good.push_back(fmt::format("friend{}@good.example", i));
  good_ = write("friends", good);
  build_all({good_});
  merge_to("merged", {"shard2", "shard0", "shard1"}, {good_});
  EXPECT_GT(exceptions("merged").size(), 20U);
  EXPECT_TRUE(bytes("merged") == bytes("whole"));
  EXPECT_EQ(hits("merged", good), 0U);
  expect_nothing_lost("merged");
}

TEST_F(MergeExceptionsTest, AKnownGoodListThatCannotBeReadEndsTheMerge) {
  build_all({});
  MergeOptions o{.output = at("merged"), .inputs = {at("shard0"), at("shard1")}, .identity = pinned()};
  o.known_good = {"/nowhere/good"};
  MergeReport report;
  const auto done = merge(o, report);
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Errc::io);
  EXPECT_FALSE(std::filesystem::exists(at("merged")));
}

// What lists except frees what the whole stops, as where all lists are built at once.
TEST_F(MergeExceptionsTest, ListsOfShardsFreeWhatAllOfThemStop) {
  build_one("one.bwf", {write("one", {"||one.example^", "@@||pay.one.example^", "@@||www.hard.example^"})}, {});
  build_one("two.bwf", {write("two", {"||two.example^", "@@||pay.one.example^", "||hard.example^$important"})}, {});
  build_one("whole.bwf", {at("one").string(), at("two").string()}, {});
  MergeOptions o{.output = at("merged.bwf"), .inputs = {at("one.bwf"), at("two.bwf")}};
  MergeReport report;
  const auto done = merge(o, report);
  ASSERT_TRUE(done) << done.error().text();
  const auto beside = [&](const std::string& name) {
    const auto file = FilterFile::open(at(name));
    return *read_exceptions(exceptions_file(at(name), content_id((*file)->header())));
  };
  EXPECT_EQ(beside("merged.bwf").rules, beside("whole.bwf").rules);
  EXPECT_THAT(beside("merged.bwf").rules, testing::ElementsAre("pay.one.example"));
  EXPECT_THAT(beside("merged.bwf").unfreed.hosts(), testing::ElementsAre("hard.example"));
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("1 exception of the lists free")));
}

}  // namespace
}  // namespace bloomwall::filter
