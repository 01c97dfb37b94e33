// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/merge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/encoding.h"
#include "filter/builder/builder.h"
#include "filter/builder/key_sketch.h"
#include "filter/file/exact_side.h"
#include "filter/file/filter_writer.h"
#include "filter/policy/query.h"
#include "tests/filter/file/later_minor.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::bytes_of;
using test::TempDir;

std::string url(int i) {
  return fmt::format("http://h{}.example/{}{}", i / 7, i, i % 3 == 0 ? "?q" : i % 3 == 1 ? "/" : "");
}

class MergeTest : public testing::Test {
 protected:
  static constexpr int kUrls = 8000;
  std::filesystem::path at(const std::string& name) const { return dir_.path() / name; }
  std::string list(const std::string& name, int first, int last) {
    std::string text;
    for (int i = first; i < last; ++i) text += url(i) + '\n';
    return dir_.write(name, text).string();
  }
  IdentityOptions pinned() {
    return {.series_key_file = dir_.write("key", std::string(64, 'b')),
            .file_id = FileId{9},
            .created = 1'700'000'000,
            .sequence = 1};
  }
  BuildOptions options(const std::string& name, std::vector<std::string> lists) {
    BuildOptions o;
    o.output = at(name);
    o.lists = std::move(lists);
    o.identity = pinned();
    o.threads = 2;
    o.ram_bytes = std::uint64_t{64} << 20;
    return o;
  }
  void build_one(const BuildOptions& o) {
    BuildReport report;
    const auto ok = build(o, report);
    ASSERT_TRUE(ok) << ok.error().text();
  }
  // Four slices that overlap, and what all of them are together.
  void build_shards(bool streamed) {
    std::vector<std::string> lists;
    for (int i = 0; i < 4; ++i) {
      lists.push_back(list(fmt::format("slice{}.txt", i), i * kUrls / 4, (i + 1) * kUrls / 4 + 100));
    }
    BuildOptions whole = options("whole.bwf", lists);
    if (streamed) whole.expected = PlanRequest{.entries = kUrls + 100};
    build_one(whole);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      BuildOptions shard = options(fmt::format("shard{}.bwf", i), {lists[i]});
      if (streamed) {
        shard.expected = whole.expected;
      } else {
        shard.like = at("whole.bwf");
      }
      shard.identity.file_id = FileId{static_cast<std::uint8_t>(i)};
      shard.identity.sequence = 5;
      build_one(shard);
    }
  }
  MergeOptions merge_of(std::vector<std::string> names) {
    MergeOptions o{.output = at("merged.bwf"), .identity = pinned(), .provenance = false, .threads = 2};
    o.identity.series_key_file.clear();
    for (const std::string& name : names) o.inputs.push_back(at(name));
    return o;
  }
  // A file that holds this one suffix, whatever its header says.
  void write_one(const std::string& name, std::string_view host,
                 const std::function<void(FilterWriter::Plan&)>& change) {
    FilterWriter::Plan plan;
    plan.header.kinds[index_of(Kind::suffix)] = {.entries = 1, .keys = 1};
    plan.header.hosts = 1;
    plan.header.min_labels = plan.header.max_labels = 2;
    plan.hosts = Geometry{.pages = 4};
    change(plan);
    auto writer = FilterWriter::create(at(name), std::move(plan));
    ASSERT_TRUE(writer) << writer.error().text();
    (*writer)->hosts()->insert(KeyMaker(SeriesKey{}).host(host), kVariantSuffix);
    const auto done = (*writer)->commit();
    ASSERT_TRUE(done) << done.error().text();
  }
  // What becomes of a.bwf and b.bwf holds all of these.
  void expect_merged_holds(const std::vector<std::string>& hosts) {
    MergeReport report;
    const auto done = merge(merge_of({"a.bwf", "b.bwf"}), report);
    ASSERT_TRUE(done) << done.error().text();
    const auto merged = FilterFile::open(at("merged.bwf"));
    ASSERT_TRUE(merged) << merged.error().text();
    Canonicaliser canonicaliser;
    for (const std::string& host : hosts) {
      EXPECT_TRUE(FilterQuery(**merged).url(canonicaliser.url("http://" + host + "/"))) << host;
    }
  }
  Error refusal(const MergeOptions& o) {
    MergeReport report;
    const auto ok = merge(o, report);
    EXPECT_FALSE(ok);
    EXPECT_FALSE(std::filesystem::exists(at("merged.bwf")));
    return ok ? Error{} : ok.error();
  }
  TempDir dir_;
};

TEST_F(MergeTest, ShardsInAnyOrderAreTheWholeByteForByte) {
  build_shards(true);
  const std::string whole = bytes_of(at("whole.bwf"));
  std::vector<std::string> names{"shard0.bwf", "shard1.bwf", "shard2.bwf", "shard3.bwf"};
  do {
    MergeReport report;
    const auto ok = merge(merge_of(names), report);
    ASSERT_TRUE(ok) << ok.error().text();
    ASSERT_TRUE(bytes_of(at("merged.bwf")) == whole) << names[0] << names[1] << names[2] << names[3];
  } while (std::next_permutation(names.begin(), names.end()));
}

TEST_F(MergeTest, AMergeOfMergesIsTheWholeToo) {
  build_shards(true);
  MergeOptions left = merge_of({"shard3.bwf", "shard0.bwf"});
  left.output = at("left.bwf");
  MergeOptions right = merge_of({"shard1.bwf", "shard2.bwf"});
  right.output = at("right.bwf");
  MergeReport report;
  ASSERT_TRUE(merge(left, report));
  ASSERT_TRUE(merge(right, report));
  MergeOptions all = merge_of({"right.bwf", "left.bwf"});
  ASSERT_TRUE(merge(all, report));
  EXPECT_TRUE(bytes_of(at("merged.bwf")) == bytes_of(at("whole.bwf")));
}

TEST_F(MergeTest, WithoutSketchesCountsComeFromTheBits) {
  build_shards(false);
  std::vector<std::string> names{"whole.bwf", "shard2.bwf", "shard0.bwf"};
  MergeReport report;
  const auto ok = merge(merge_of(names), report);
  ASSERT_TRUE(ok) << ok.error().text();
  const auto whole = FilterFile::open(at("whole.bwf"));
  const auto merged = FilterFile::open(at("merged.bwf"));
  ASSERT_TRUE(whole && merged);
  const Header& a = (*whole)->header();
  const Header& b = (*merged)->header();
  EXPECT_EQ(a.find(SectionType::paths)->sha_root, b.find(SectionType::paths)->sha_root);
  EXPECT_EQ(a.find(SectionType::hosts)->sha_root, b.find(SectionType::hosts)->sha_root);
  EXPECT_EQ(b.compatible & kEstimatedCounts, kEstimatedCounts);
  double exact = 0;
  double estimated = 0;
  for (std::size_t i = 0; i < kKindCount; ++i) {
    exact += static_cast<double>(a.kinds[i].keys);
    estimated += static_cast<double>(b.kinds[i].keys);
  }
  EXPECT_NEAR(estimated, exact, exact * 0.02);
  EXPECT_NEAR(static_cast<double>(b.hosts), static_cast<double>(a.hosts), static_cast<double>(a.hosts) * 0.15);
  EXPECT_TRUE((*merged)->verify(FilterFile::Depth::tampering));
}

// So few that their error is nothing.
TEST_F(MergeTest, AFewEntriesAreCountedToo) {
  for (const int each : {1, 10, 100, 1000}) {
    const int both = each / 2;  // are in both lists
    const auto a = list("a.txt", 0, each);
    const auto b = list("b.txt", each - both, 2 * each - both);
    build_one(options("a.bwf", {a}));
    BuildOptions like = options("b.bwf", {b});
    like.like = at("a.bwf");
    like.force = true;
    build_one(like);
    MergeReport report;
    MergeOptions o = merge_of({"a.bwf", "b.bwf"});
    o.force = true;
    const auto ok = merge(o, report);
    ASSERT_TRUE(ok) << ok.error().text();
    const double distinct = 2 * each - both;
    EXPECT_NEAR(static_cast<double>(distinct_entries(report.header)), distinct, 1 + 0.1 * distinct) << each;
  }
}

TEST_F(MergeTest, SaysWhatWasMerged) {
  build_shards(true);
  MergeOptions o = merge_of({"shard1.bwf", "shard0.bwf"});
  o.provenance = true;
  MergeReport report;
  ASSERT_TRUE(merge(o, report));
  const auto merged = FilterFile::open(at("merged.bwf"));
  ASSERT_TRUE(merged);
  const auto info = (*merged)->info();
  ASSERT_TRUE(info);
  ASSERT_EQ(info->provenance.size(), 2U);
  EXPECT_TRUE(info->provenance[0].starts_with(to_hex(FileId{0}))) << info->provenance[0];
  EXPECT_NE(info->provenance[0].find("sequence 5"), std::string::npos) << info->provenance[0];
  EXPECT_EQ(info->sources.size(), 2U);
  Canonicaliser canonicaliser;
  for (int i = 0; i < kUrls / 2; ++i) {
    ASSERT_TRUE(FilterQuery(**merged).url(canonicaliser.url(url(i)))) << i;
  }
}

TEST_F(MergeTest, RefusesWhatDoesNotFit) {
  build_shards(true);
  BuildOptions other_series = options("other.bwf", {list("other.txt", 0, 100)});
  other_series.identity.series_key_file = dir_.write("other_key", std::string(64, 'c'));
  other_series.expected = PlanRequest{.entries = kUrls + 100};
  build_one(other_series);
  EXPECT_NE(refusal(merge_of({"shard0.bwf", "other.bwf"})).what.find("another series"), std::string::npos);

  build_one(options("small.bwf", {list("small.txt", 0, 100)}));
  EXPECT_NE(refusal(merge_of({"shard0.bwf", "small.bwf"})).what.find("another geometry"), std::string::npos);

  BuildOptions aggressive = options("aggressive.bwf", {list("aggressive.txt", 0, 100)});
  aggressive.expected = other_series.expected;
  aggressive.read.aggressive = true;
  build_one(aggressive);
  EXPECT_NE(refusal(merge_of({"shard0.bwf", "aggressive.bwf"})).what.find("other options"), std::string::npos);
  EXPECT_EQ(refusal(merge_of({})).code, Errc::usage);
}

TEST_F(MergeTest, RefusesToPassTheTargetUnlessForced) {
  BuildOptions first = options("a.bwf", {list("a.txt", 0, 3000)});
  first.expected = PlanRequest{.entries = 3000};
  build_one(first);
  BuildOptions second = options("b.bwf", {list("b.txt", 3000, 6000)});
  second.expected = first.expected;
  build_one(second);
  MergeOptions o = merge_of({"a.bwf", "b.bwf"});
  EXPECT_EQ(refusal(o).code, Errc::unmet_target);
  o.force = true;
  MergeReport report;
  ASSERT_TRUE(merge(o, report));
  EXPECT_GT(worst_error(report.header.predicted), 1e-5);
  std::filesystem::remove(at("merged.bwf"));
  o.force = false;
  o.fpr = 0.01;
  EXPECT_TRUE(merge(o, report)) << "when that is enough";
}

// A kind is not asked whose counts are zero.
TEST_F(MergeTest, CountsThatDoNotFitTogetherCloseNoKind) {
  write_one("a.bwf", "a.example", [](FilterWriter::Plan& plan) {
    plan.header.kinds[index_of(Kind::suffix)] = {.entries = ~std::uint64_t{0}, .keys = ~std::uint64_t{0}};
    plan.header.hosts = ~std::uint64_t{0};
  });
  write_one("b.bwf", "b.example", [](FilterWriter::Plan&) {});
  expect_merged_holds({"a.example", "b.example"});
}

TEST_F(MergeTest, WhereOneFileKnowsNoRangeOfLabelsNoneIsKnown) {
  write_one("a.bwf", "very.long.name.example",
            [](FilterWriter::Plan& plan) { plan.header.min_labels = plan.header.max_labels = 0; });
  write_one("b.bwf", "b.example", [](FilterWriter::Plan&) {});
  expect_merged_holds({"very.long.name.example", "b.example"});
}

TEST_F(MergeTest, SketchesCloseNothingThatHeadersHaveOpen) {
  const auto of_others = [](FilterWriter::Plan& plan) {
    EntrySketches sketches;
    sketches.add_host(KeyMaker(SeriesKey{}).host("x.other.example"), kVariantSuffix);
    sketches.add_labels(3);
    plan.sketches = sketches.serialise();
  };
  write_one("a.bwf", "a.example", of_others);
  write_one("b.bwf", "b.example", of_others);
  expect_merged_holds({"a.example", "b.example"});
}

// A source with a name of any length.
class OneLine final : public BlockSource {
 public:
  Result<bool> next(LineBlock& block) override {
    block.text = "http://a.example/x\n";
    return !given_.exchange(true);
  }
  Position position() const override { return {.done = 1, .total = 1}; }

 private:
  std::atomic<bool> given_ = false;
};

// As after hours of building shards: said before a page of them is read.
TEST_F(MergeTest, MoreSourcesThanTheFileHoldsAreSaidBeforeAPageIsRead) {
  for (const char name : {'a', 'b'}) {
    BuildOptions o = options(fmt::format("{}.bwf", name), {});
    o.generated.push_back(
        {.name = std::string(kMaxInfoBytes / 2, name), .open = [] { return std::make_unique<OneLine>(); }});
    o.expected = PlanRequest{.entries = kUrls};
    build_one(o);
    std::fstream file(o.output, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(5000);
    file.put('\x55');  // damage, which is found while all is read
  }
  const Error error = refusal(merge_of({"a.bwf", "b.bwf"}));
  EXPECT_EQ(error.code, Errc::limit);
  EXPECT_NE(error.what.find("2 sources and 0 notes are more than the information section holds"), std::string::npos);
}

TEST_F(MergeTest, ACorruptInputIsFound) {
  build_shards(true);
  std::fstream file(at("shard2.bwf"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(20'000);
  file.put('x');
  file.close();
  EXPECT_EQ(refusal(merge_of({"shard0.bwf", "shard2.bwf"})).code, Errc::bad_digest);
}

TEST_F(MergeTest, TheFileWhoseSourcesCannotBeReadIsNamed) {
  build_shards(true);
  std::filesystem::copy_file(at("shard2.bwf"), at("copy.bwf"));
  const auto opened = FilterFile::open(at("shard0.bwf"));
  ASSERT_TRUE(opened) << opened.error().text();
  std::fstream file(at("shard0.bwf"), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>((*opened)->header().find(SectionType::info)->offset) + 2);
  file.put('x');
  file.close();
  EXPECT_EQ(refusal(merge_of({"shard0.bwf", "shard2.bwf", "copy.bwf"})).where, at("shard0.bwf").string());
}

TEST_F(MergeTest, AFileThatIsNoFilterIsNotReplaced) {
  write_one("a.bwf", "a.example", [](FilterWriter::Plan&) {});
  write_one("b.bwf", "b.example", [](FilterWriter::Plan&) {});
  dir_.write("merged.bwf", "my notes");
  MergeReport report;
  const auto done = merge(merge_of({"a.bwf", "b.bwf"}), report);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("can't be read as a filter"), std::string::npos);
  EXPECT_EQ(bytes_of(at("merged.bwf")), "my notes");
}

// Of shards that a later builder wrote: what it promised of its own is not true of the file that this one makes.
TEST_F(MergeTest, PromisesNothingThatThisBuildDoesNotKnow) {
  build_shards(true);
  const std::vector<std::string> names{"shard0.bwf", "shard1.bwf", "shard2.bwf", "shard3.bwf"};
  for (const std::string& name : names) testing_support::promise_more(at(name));
  const auto later = FilterFile::open(at(names.front()));
  ASSERT_TRUE(later) << later.error().text();
  ASSERT_EQ((*later)->header().minor, 3);
  ASSERT_EQ((*later)->header().compatible & testing_support::kLaterFeature, testing_support::kLaterFeature);
  MergeReport report;
  const auto ok = merge(merge_of(names), report);
  ASSERT_TRUE(ok) << ok.error().text();
  EXPECT_TRUE(bytes_of(at("merged.bwf")) == bytes_of(at("whole.bwf")));
}

// An exact side is of one build: that of a shard would refute what the others brought.
TEST_F(MergeTest, TheExactSideOfAShardIsNotThatOfTheWhole) {
  for (const int i : {0, 1}) {
    const std::string name = i == 0 ? "a" : "b";
    BuildOptions o = options(name + ".bwf", {list(name + ".txt", i * 500, (i + 1) * 500)});
    o.expected = PlanRequest{.entries = kUrls};
    o.exact_side = true;
    build_one(o);
  }
  const auto shard = FilterFile::open(at("a.bwf"));
  ASSERT_TRUE(shard);
  ASSERT_TRUE(ExactSide::open(at("a.bwx"), (*shard)->header().exact_root));
  MergeReport report;
  const auto ok = merge(merge_of({"a.bwf", "b.bwf"}), report);
  ASSERT_TRUE(ok) << ok.error().text();
  const auto merged = FilterFile::open(at("merged.bwf"));
  ASSERT_TRUE(merged);
  for (const char* side : {"a.bwx", "b.bwx"}) {
    const auto exact = ExactSide::open(at(side), (*merged)->header().exact_root);
    ASSERT_FALSE(exact) << side;
    EXPECT_EQ(exact.error().code, Errc::wrong_base) << side;
  }
}

TEST_F(MergeTest, TheTargetMayBeAnInput) {
  build_shards(true);
  MergeOptions o = merge_of({"shard0.bwf", "shard1.bwf"});
  o.output = at("shard0.bwf");
  o.identity.sequence.reset();
  MergeReport report;
  ASSERT_TRUE(merge(o, report));
  EXPECT_EQ(report.header.sequence, 6U) << "one more than what it replaces";
}

}  // namespace
}  // namespace bloomwall::filter
