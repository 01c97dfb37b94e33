// The frozen files of format version 1: they open and answer as golden_v1.tsv says, for ever; and what is written today
// is still those files, but for predictions, whose model may become better. golden_v1_hosts_2x8.bwf has H in layout 2x8
// and P and R in 4x4, golden_v1_hosts_4x4.bwf the other way round; both have sections E, signatures and a signature in
// the header.
// The table: kind, host or raw bytes, path, query, listed (yes or no); marks are written mark-U, mark-Q, mark-D<depth>.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

const std::filesystem::path kData = BLOOMWALL_SOURCE_DIR "/tests/data";

struct Row {
  std::string kind, host, path, query;
  bool listed = false;
};

std::vector<Row> read_rows() {
  std::ifstream in(kData / "golden_v1.tsv");
  std::vector<Row> rows;
  std::string line;
  std::getline(in, line);  // names
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    Row row;
    std::string listed;
    for (std::string* cell : {&row.kind, &row.host, &row.path, &row.query, &listed}) std::getline(cells, *cell, '\t');
    EXPECT_TRUE(listed == "yes" || listed == "no") << line;
    row.listed = listed == "yes";
    rows.push_back(row);
  }
  return rows;
}

// The variant of a question about a host; nothing for the kinds with keys of their own.
std::optional<Variant> host_question(const std::string& kind) {
  if (kind == "mark-U") return kVariantMarkUrl;
  if (kind == "mark-Q") return kVariantMarkQuery;
  if (kind.starts_with("mark-D")) return directory_mark(static_cast<unsigned>(std::stoul(kind.substr(6))));
  for (const Kind k : {Kind::suffix, Kind::exact_host, Kind::subdomains}) {
    if (kind[0] == static_cast<char>(k)) return host_variant(k);
  }
  return std::nullopt;
}

Hash128 key_of(const KeyMaker& keys, const Row& row) {
  if (row.kind == "R") return keys.raw(row.host);
  const Hash128 host = keys.host(row.host);
  Hash128 path = keys.empty_path();
  std::istringstream segments(row.path);
  for (std::string segment; std::getline(segments, segment, '/');) {
    if (!segment.empty()) path = keys.segment(segment, path);
  }
  if (row.kind == "U") return keys.url(host, path);
  if (row.kind == "D") return keys.directory(host, path);
  EXPECT_EQ(row.kind, "Q");
  return keys.url_query(host, path, keys.hash(row.query));
}

bool is_listed(const FilterFile& file, const Row& row) {
  const KeyMaker& keys = file.keys();
  if (const auto variant = host_question(row.kind)) {
    const std::uint32_t bit = 1U << *variant;
    return file.hosts().test_variants(file.hosts().place(keys.host(row.host)), bit) == bit;
  }
  const SectionView& section = row.kind == "R" ? file.raw() : file.paths();
  return section.test(section.place(key_of(keys, row)));
}

class GoldenTest : public testing::TestWithParam<Layout> {
 protected:
  static Layout hosts_layout() { return GetParam(); }
  static Layout other_layout() { return GetParam() == Layout::sectors_2x8 ? Layout::lines_4x4 : Layout::sectors_2x8; }
  static std::string name() {
    return std::string("golden_v1_hosts_") + (GetParam() == Layout::sectors_2x8 ? "2x8" : "4x4");
  }
  static std::filesystem::path frozen() { return kData / (name() + ".bwf"); }
  static FilterWriter::Plan plan();
};
INSTANTIATE_TEST_SUITE_P(Layouts, GoldenTest, testing::Values(Layout::sectors_2x8, Layout::lines_4x4),
                         [](const auto& of) { return of.param == Layout::sectors_2x8 ? "Hosts2x8" : "Hosts4x4"; });

TEST_P(GoldenTest, TheFrozenFileAnswersAsItDidWhenItWasWritten) {
  const auto file = FilterFile::open(frozen());
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_TRUE((*file)->verify(FilterFile::Depth::tampering));
  std::map<std::pair<std::string, bool>, int> seen;
  for (const Row& row : read_rows()) {
    EXPECT_EQ(is_listed(**file, row), row.listed) << row.kind << " " << row.host << row.path << "?" << row.query;
    ++seen[{row.kind.substr(0, 6), row.listed}];
  }
  for (const char* kind : {"S", "X", "W", "U", "Q", "D", "R", "mark-U", "mark-Q", "mark-D"}) {
    EXPECT_GT((seen[{kind, true}]), 0) << kind;
    EXPECT_GT((seen[{kind, false}]), 0) << kind;
  }
}

TEST_P(GoldenTest, TheFrozenHeaderSaysWhatItSaid) {
  const auto file = FilterFile::open(frozen());
  ASSERT_TRUE(file) << file.error().text();
  const Header& h = (*file)->header();
  EXPECT_EQ(to_hex(h.file_id), "676f6c64656e2066696c652076312e30");
  EXPECT_EQ(to_hex(h.series_id), "676f6c64656e20736572696573202020");
  EXPECT_EQ(h.sequence, 42U);
  EXPECT_EQ(h.created, 1'767'225'600U);
  EXPECT_EQ(h.valid_until, 4'102'444'800U);
  EXPECT_EQ(h.unicode_version, 0x0F0000U);
  EXPECT_EQ(h.compatible, 0x8000000000000000U);
  EXPECT_EQ(h.marks, 6U);
  EXPECT_EQ(h.max_depth, 17);
  EXPECT_EQ(h.signatures[7].algorithm, 0xfffffffeU);
  EXPECT_EQ(h.find(SectionType::hosts)->geometry.layout, hosts_layout());
  EXPECT_EQ(h.find(SectionType::paths)->geometry.layout, other_layout());
  EXPECT_EQ(h.find(SectionType::paths)->geometry.pages, 2U);
  EXPECT_EQ((*file)->exceptions().of((*file)->keys().host("good.example")), kind_bit(Kind::suffix));
  EXPECT_EQ((*file)->exceptions().all().size(), 2U);
  const auto info = (*file)->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->category, "golden");
  EXPECT_EQ(info->sources.at(0).name, "golden_v1.tsv");
  EXPECT_EQ(info->provenance, std::vector<std::string>{"made once"});
}

FilterWriter::Plan GoldenTest::plan() {
  FilterWriter::Plan plan;
  Header& h = plan.header;
  const auto put = [](auto& field, std::string_view text) { std::copy(text.begin(), text.end(), field.begin()); };
  put(h.file_id, "golden file v1.0");
  put(h.series_id, "golden series   ");
  put(h.series_key, "a key that is no secret at all..");
  h.compatible = std::uint64_t{1} << 63;
  h.sequence = 42;
  h.created = 1'767'225'600;
  h.valid_until = 4'102'444'800;
  h.unicode_version = 0x0F0000;
  h.psl_time = 1'767'000'000;
  h.converter_options = 3;
  for (const Row& row : read_rows()) {
    if (!row.listed) continue;
    if (row.kind.starts_with("mark")) {
      ++h.marks;
      if (const auto variant = host_question(row.kind)) h.mark_mask |= 1U << *variant;
    } else {
      KindCounts& counts = h.kinds[index_of(static_cast<Kind>(row.kind[0]))];
      ++counts.entries, ++counts.keys;
    }
  }
  h.hosts = 9;
  h.min_labels = 1;
  h.max_labels = 4;
  h.max_depth = 17;
  h.measured = {.samples = 1'000'000, .hits = 1};
  h.signatures[7] = {.algorithm = 0xfffffffe, .parameter = 9, .key_id = {7}, .bytes = {5, 6}};
  plan.hosts = Geometry{.layout = hosts_layout(), .pages = 1};
  plan.paths = Geometry{.layout = other_layout(), .pages = 2};
  plan.raw = Geometry{.layout = other_layout(), .pages = 1};
  plan.info = {.category = "golden",
               .builder = "bloomwall-filter 0.1.0",
               .sources = {{.name = "golden_v1.tsv", .format = "table", .bytes = 1000, .entries = 26, .sha256 = {9}}},
               .provenance = {"made once"}};
  const KeyMaker keys(h.series_key);
  std::vector<Exception> exceptions{{.key = keys.host("good.example"), .kinds = kind_bit(Kind::suffix)},
                                    {.key = keys.raw("known to be good"), .kinds = kind_bit(Kind::raw)}};
  std::sort(exceptions.begin(), exceptions.end(),
            [](const Exception& a, const Exception& b) { return in_file_order(a.key, b.key); });
  plan.exceptions = serialise_exceptions(exceptions);
  return plan;
}

void write_golden(const std::filesystem::path& path, FilterWriter::Plan plan) {
  auto writer = FilterWriter::create(path, std::move(plan));
  ASSERT_TRUE(writer) << writer.error().text();
  const KeyMaker keys((*writer)->header().series_key);
  for (const Row& row : read_rows()) {
    if (!row.listed) continue;
    if (const auto variant = host_question(row.kind)) {
      (*writer)->hosts()->insert(keys.host(row.host), *variant);
    } else {
      SectionWriter& section = row.kind == "R" ? *(*writer)->raw() : *(*writer)->paths();
      section.insert(key_of(keys, row));
    }
  }
  const auto done = (*writer)->commit();
  ASSERT_TRUE(done) << done.error().text();
}

// The frozen files are what this left in the build folder when the format was made final; never copy them again.
TEST_P(GoldenTest, WhatIsWrittenTodayIsStillThatFile) {
  const std::filesystem::path path = std::filesystem::path(BLOOMWALL_BINARY_DIR) / (name() + "_now.bwf");
  write_golden(path, plan());
  testing_support::expect_frozen_bytes(path, frozen());
}

}  // namespace
}  // namespace bloomwall::filter
