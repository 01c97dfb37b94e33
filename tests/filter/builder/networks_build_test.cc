// Ranges of addresses through every way of making a filter: collected, streamed, read twice, merged of shards.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "filter/builder/build_extras.h"
#include "filter/builder/builder.h"
#include "filter/builder/merge.h"
#include "filter/file/networks.h"
#include "filter/policy/query.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

using test::bytes_of;
using testing::HasSubstr;

class NetworksBuildTest : public testing::Test {
 protected:
  std::filesystem::path at(const std::string& name) const { return dir_.path() / name; }
  std::string write(const std::string& name, std::string_view text) const { return dir_.write(name, text).string(); }
  BuildOptions options(const std::string& name, std::vector<std::string> lists) const {
    BuildOptions o;
    o.output = at(name);
    o.lists = std::move(lists);
    o.identity = {.series_key_file = dir_.write("key", std::string(64, 'c')),
                  .file_id = FileId{3},
                  .created = 1'700'000'000,
                  .sequence = 1};
    o.threads = 2;
    o.ram_bytes = std::uint64_t{64} << 20;
    return o;
  }
  std::unique_ptr<FilterFile> made(const BuildOptions& o, BuildReport& report) const {
    const auto ok = build(o, report);
    EXPECT_TRUE(ok) << ok.error().text();
    return opened(o.output);
  }
  std::unique_ptr<FilterFile> made(const BuildOptions& o) const {
    BuildReport report;
    return made(o, report);
  }
  static std::unique_ptr<FilterFile> opened(const std::filesystem::path& path) {
    auto file = FilterFile::open(path);
    EXPECT_TRUE(file) << file.error().text();
    return file ? *std::move(file) : nullptr;
  }
  static std::vector<std::string> told(const FilterFile& file) {
    std::vector<std::string> out;
    for (const auto& r : file.networks().ipv4()) {
      out.push_back(text_of(file.networks().find(IpAddress::v4(r.first)).value()));
    }
    for (const auto& r : file.networks().ipv6()) {
      out.push_back(text_of(file.networks().find(IpAddress{r.first}).value()));
    }
    return out;
  }
  test::TempDir dir_;
};

constexpr const char* kDrop = "; DROP\n1.10.16.0/20 ; SBL1\n1.10.32.0/20 ; SBL2\n2001:db8::/32\n192.0.2.7\n";

TEST_F(NetworksBuildTest, AListOfNetworksIsOneAndWhatTouchesIsJoined) {
  BuildReport report;
  const auto file = made(options("f.bwf", {write("drop.txt", kDrop)}), report);
  ASSERT_TRUE(file);
  EXPECT_EQ(told(*file), (std::vector<std::string>{"1.10.16.0-1.10.47.255", "192.0.2.7/32", "[2001:db8::]/32"}));
  EXPECT_EQ(report.files.at(0).report.format, Format::networks);
  const KindCounts& counts = file->header().kinds[index_of(Kind::network)];
  EXPECT_EQ(counts.entries, 4U);
  EXPECT_EQ(counts.keys, 3U);
  EXPECT_EQ(report.summary.total(), 3U);
  EXPECT_EQ(report.files.at(0).duplicates(), 0U);
  EXPECT_TRUE(file->verify(FilterFile::Depth::tampering));
  ASSERT_TRUE(file->hosts()) << "a file has a section that can be asked";
  EXPECT_EQ(file->header().find(SectionType::hosts)->length, kPageBytes);
  EXPECT_LE(worst_error(file->header().predicted), kDefaultTarget);
  EXPECT_EQ(report.sizing->file_bytes, file->header().file_bytes) << "sizing knows what the writer makes";
}

TEST_F(NetworksBuildTest, AddressesInAListOfOtherThingsStayHosts) {
  const auto file = made(options("f.bwf", {write("l.txt", "a.example\n192.0.2.7\n192.0.2.8/32\n198.51.100.0/24\n")}));
  ASSERT_TRUE(file);
  EXPECT_EQ(told(*file), (std::vector<std::string>{"192.0.2.8/32", "198.51.100.0/24"}))
      << "who writes /32 means a range";
  EXPECT_EQ(file->header().kinds[index_of(Kind::exact_host)].keys, 1U);
  Canonicaliser canonicaliser;
  EXPECT_TRUE(FilterQuery(*file).url(canonicaliser.url("http://192.0.2.8/x")));
}

TEST_F(NetworksBuildTest, TooWideRangesAreUnusableUnlessAllowed) {
  BuildOptions o = options("f.bwf", {write("l.txt", "224.0.0.0/3\n192.0.2.0/24\n")});
  BuildReport report;
  const auto refused = build(o, report);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::bad_syntax);
  EXPECT_EQ(report.files.at(0).report.unsupported.count("range too wide; --allow-wide-ranges takes it"), 1U);
  o.read.allow_wide_ranges = true;
  const auto file = made(o);
  ASSERT_TRUE(file);
  EXPECT_EQ(told(*file), (std::vector<std::string>{"192.0.2.0/24", "224.0.0.0/3"}));
  EXPECT_EQ(file->header().converter_options, kOptionWideRanges);
}

TEST_F(NetworksBuildTest, StreamedAndCollectedHoldTheSameRanges) {
  const auto list = write("l.txt", "a.example\nb.example\n198.51.100.0/24\n192.0.2.0/24\n192.0.3.0/24\n");
  BuildOptions streamed = options("s.bwf", {list});
  streamed.expected = PlanRequest{.entries = 100};
  const auto a = made(options("c.bwf", {list}));
  const auto b = made(streamed);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->networks(), b->networks());
  EXPECT_EQ(told(*b), (std::vector<std::string>{"192.0.2.0/23", "198.51.100.0/24"}));
  EXPECT_FALSE(b->section_bytes(SectionType::sketches).empty());
  EXPECT_EQ(b->header().kinds[index_of(Kind::network)].keys, 2U);
  EXPECT_EQ(b->header().kinds[index_of(Kind::network)].entries, 3U);
}

// Where memory does not suffice lists are read twice: once for estimates.
TEST_F(NetworksBuildTest, WhatIsReadTwiceIsCountedOnce) {
  std::string text = "198.51.100.0/24\n";
  for (int i = 0; i < 250'000; ++i) text += fmt::format("http://h{}.example/p{}\n", i / 50, i);
  BuildOptions o = options("f.bwf", {write("l.txt", text)});
  o.target.fpr = 1e-4;
  o.threads = 1;
  o.ram_bytes = 7'500'000;
  BuildReport report;
  const auto file = made(o, report);
  ASSERT_TRUE(file);
  EXPECT_TRUE(report.streamed) << "else the test has missed its case";
  EXPECT_EQ(told(*file), std::vector<std::string>{"198.51.100.0/24"});
  EXPECT_EQ(file->header().kinds[index_of(Kind::network)].entries, 1U);
}

TEST_F(NetworksBuildTest, ShardsInAnyOrderAreTheWholeByteForByte) {
  const std::vector<std::string> lists{write("1.txt", "a.example\n192.0.2.0/25\n2001:db8::/33\n"),
                                       write("2.txt", "b.example\n"),
                                       write("3.txt", "a.example\n192.0.2.128/25\n2001:db8:8000::/33\n10.0.0.0/8\n")};
  BuildOptions whole = options("whole.bwf", lists);
  whole.expected = PlanRequest{.entries = 100};
  ASSERT_TRUE(made(whole));
  MergeOptions together{.output = at("merged.bwf"), .identity = whole.identity, .provenance = false, .threads = 2};
  together.identity.series_key_file.clear();
  for (const std::size_t i : {2U, 0U, 1U}) {
    BuildOptions shard = options(fmt::format("shard{}.bwf", i), {lists[i]});
    shard.expected = whole.expected;
    shard.identity.file_id = FileId{static_cast<std::uint8_t>(40 + i)};
    ASSERT_TRUE(made(shard));
    together.inputs.push_back(shard.output);
  }
  MergeReport report;
  const auto ok = merge(together, report);
  ASSERT_TRUE(ok) << ok.error().text();
  EXPECT_TRUE(bytes_of(at("merged.bwf")) == bytes_of(at("whole.bwf")));
  EXPECT_EQ(told(*opened(at("merged.bwf"))),
            (std::vector<std::string>{"10.0.0.0/8", "192.0.2.0/24", "[2001:db8::]/32"}));
}

TEST_F(NetworksBuildTest, AMergeWithoutSketchesCountsTheRangesThatAreLeft) {
  const auto first = options("1.bwf", {write("1.txt", "a.example\n192.0.2.0/24\n192.0.4.0/24\n")});
  ASSERT_TRUE(made(first));
  BuildOptions second = options("2.bwf", {write("2.txt", "b.example\n192.0.3.0/24\n")});
  second.like = first.output;
  ASSERT_TRUE(made(second));
  MergeOptions together{.output = at("m.bwf"), .inputs = {second.output, first.output}, .identity = first.identity};
  together.identity.series_key_file.clear();
  MergeReport report;
  const auto ok = merge(together, report);
  ASSERT_TRUE(ok) << ok.error().text();
  const auto file = opened(at("m.bwf"));
  EXPECT_EQ(told(*file), std::vector<std::string>{"192.0.2.0-192.0.4.255"});
  EXPECT_EQ(file->header().kinds[index_of(Kind::network)].keys, 1U);
  EXPECT_EQ(file->header().kinds[index_of(Kind::network)].entries, 3U);
}

TEST_F(NetworksBuildTest, TheSameWhateverTheNumberOfThreads) {
  std::mt19937_64 random(20260101);
  std::string text;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t at = random();
    text += fmt::format("{}.{}.{}.0/24\n", 1 + at % 220, (at >> 8) % 256, (at >> 16) % 256);
  }
  const auto list = write("l.txt", text);
  BuildOptions one = options("one.bwf", {list});
  one.threads = 1;
  BuildOptions four = options("four.bwf", {list});
  four.threads = 4;
  ASSERT_TRUE(made(one) && made(four));
  EXPECT_TRUE(bytes_of(at("one.bwf")) == bytes_of(at("four.bwf")));
}

AddressRange one_address(std::uint32_t number) { return range_of(IpAddress::v4(number)); }

TEST(RangeCollector, JoinsWhatSeveralWorkersSaw) {
  RangeCollector collector;
  collector.expect_workers(2);
  for (std::uint32_t i = 0; i < 600'000; ++i) collector.seen(i % 2, one_address(i));
  const auto one = collector.networks();
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(one->size(), 1U);
  EXPECT_EQ(ipv4_addresses(*one), 600'000U);
  EXPECT_TRUE(collector.check());
  collector.clear();
  EXPECT_TRUE(collector.networks()->empty());
}

TEST(RangeCollector, RefusesMoreThanAFileHolds) {
  RangeCollector collector(1000);
  collector.expect_workers(1);
  for (std::uint32_t i = 0; i < 1000; ++i) collector.seen(0, one_address(2 * i));
  ASSERT_TRUE(collector.networks());
  collector.seen(0, one_address(2000));
  const auto many = collector.networks();
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, Errc::limit);
  EXPECT_THAT(many.error().what, HasSubstr("more than 1,000 ranges"));
  for (std::uint32_t i = 0; i < 300'000; ++i) collector.seen(0, one_address(2 * i));
  EXPECT_FALSE(collector.check()) << "reading ends early";
}

}  // namespace
}  // namespace bloomwall::filter
