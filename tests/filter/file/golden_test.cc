// The frozen file of format version 1: tests/data/golden_v1.bwf opens and answers as golden_v1.tsv says, for ever; and what
// is written today is still that file, but for predictions, whose model may become better.
// The tables: kind, host or raw bytes, path, query, listed (yes or no); marks are written mark-U, mark-Q, mark-D<depth>.
// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

using testing_support::read_bytes;

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

unsigned rounds_of(const Header& h, Kind kind) { return h.kinds[index_of(kind)].rounds; }

// The variant and rounds of a question about a host; nothing for the kinds with keys of their own.
struct HostQuestion {
  Variant variant;
  unsigned rounds;
};
std::optional<HostQuestion> host_question(const Header& h, const std::string& kind) {
  if (kind == "mark-U") return HostQuestion{kVariantMarkUrl, 1};
  if (kind == "mark-Q") return HostQuestion{kVariantMarkQuery, 1};
  if (kind.starts_with("mark-D"))
    return HostQuestion{directory_mark(static_cast<unsigned>(std::stoul(kind.substr(6)))), 1};
  for (const Kind k : {Kind::suffix, Kind::exact_host, Kind::subdomains}) {
    if (kind[0] == static_cast<char>(k)) return HostQuestion{host_variant(k), rounds_of(h, k)};
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
  if (const auto q = host_question(file.header(), row.kind)) {
    const std::uint32_t bit = 1U << q->variant;
    return file.hosts().test_variants(file.hosts().place(keys.host(row.host)), bit, q->rounds == 2 ? bit : 0) == bit;
  }
  const SectionView& section = row.kind == "R" ? file.raw() : file.paths();
  return section.test(section.place(key_of(keys, row)), 0, rounds_of(file.header(), static_cast<Kind>(row.kind[0])));
}

TEST(GoldenTest, TheFrozenFileAnswersAsItDidWhenItWasWritten) {
  const auto file = FilterFile::open(kData / "golden_v1.bwf");
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

TEST(GoldenTest, TheFrozenHeaderSaysWhatItSaid) {
  const auto file = FilterFile::open(kData / "golden_v1.bwf");
  ASSERT_TRUE(file) << file.error().text();
  const Header& h = (*file)->header();
  EXPECT_EQ(to_hex(h.file_id), "676f6c64656e2066696c652076312e30");
  EXPECT_EQ(to_hex(h.series_id), "676f6c64656e20736572696573202020");
  EXPECT_EQ(h.sequence, 42U);
  EXPECT_EQ(h.created, 1'767'225'600U);
  EXPECT_EQ(h.valid_until, 4'102'444'800U);
  EXPECT_EQ(h.unicode_version, 0x0F0000U);
  EXPECT_EQ(h.compatible, 0x8000000000000000U);
  EXPECT_EQ(h.kinds[index_of(Kind::url_query)].rounds, 2);
  EXPECT_EQ(h.marks, 6U);
  EXPECT_EQ(h.max_depth, 17);
  EXPECT_EQ(h.signatures[7].algorithm, 0xfffffffeU);
  EXPECT_EQ(h.find(SectionType::hosts)->geometry.layout, Layout::sectors_2x8);
  EXPECT_EQ(h.find(SectionType::paths)->geometry.layout, Layout::lines_4x4);
  EXPECT_EQ(h.find(SectionType::paths)->geometry.segments, 2U);
  const auto info = (*file)->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->category, "golden");
  EXPECT_EQ(info->sources.at(0).name, "golden_v1.tsv");
  EXPECT_EQ(info->provenance, std::vector<std::string>{"made once"});
}

FilterWriter::Plan golden_plan() {
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
      const auto q = host_question(h, row.kind);
      if (q) h.mark_mask |= 1U << q->variant;
    } else {
      KindCounts& counts = h.kinds[index_of(static_cast<Kind>(row.kind[0]))];
      ++counts.entries, ++counts.keys;
    }
  }
  for (const Kind kind : {Kind::subdomains, Kind::url_query, Kind::raw}) h.kinds[index_of(kind)].rounds = 2;
  h.hosts = 9;
  h.min_labels = 1;
  h.max_labels = 4;
  h.max_depth = 17;
  h.measured = {.samples = 1'000'000, .hits = 1};
  h.signatures[7] = {.algorithm = 0xfffffffe, .parameter = 9, .key_id = {7}, .bytes = {5, 6}};
  plan.hosts = Geometry{.layout = Layout::sectors_2x8, .segments = 1, .pages_per_segment = 1};
  plan.paths = Geometry{.layout = Layout::lines_4x4, .segments = 2, .pages_per_segment = 1};
  plan.raw = Geometry{.layout = Layout::lines_4x4, .segments = 1, .pages_per_segment = 1};
  plan.info = {.category = "golden",
               .builder = "bloomwall-filter 0.1.0",
               .sources = {{.name = "golden_v1.tsv", .format = "table", .bytes = 1000, .entries = 26, .sha256 = {9}}},
               .provenance = {"made once"}};
  return plan;
}

void write_golden(const std::filesystem::path& path) {
  auto writer = FilterWriter::create(path, golden_plan());
  ASSERT_TRUE(writer) << writer.error().text();
  const Header& h = (*writer)->header();
  const KeyMaker keys(h.series_key);
  for (const Row& row : read_rows()) {
    if (!row.listed) continue;
    if (const auto q = host_question(h, row.kind)) {
      (*writer)->hosts()->insert(keys.host(row.host), q->variant, q->rounds);
    } else {
      SectionWriter& section = row.kind == "R" ? *(*writer)->raw() : *(*writer)->paths();
      section.insert(key_of(keys, row), 0, rounds_of(h, static_cast<Kind>(row.kind[0])));
    }
  }
  const auto done = (*writer)->commit();
  ASSERT_TRUE(done) << done.error().text();
}

// The frozen file is what this left in the build folder when the format was made final; never copy it again for version 1.
TEST(GoldenTest, WhatIsWrittenTodayIsStillThatFile) {
  const std::filesystem::path path = BLOOMWALL_BINARY_DIR "/golden_v1_now.bwf";
  write_golden(path);
  auto now = read_bytes(path);
  const auto frozen = read_bytes(kData / "golden_v1.bwf");
  const auto frozen_header = parse_header(frozen, frozen.size());
  auto header = parse_header(now, now.size());
  ASSERT_TRUE(header && frozen_header);
  header->predicted = frozen_header->predicted;
  const auto head = serialise_header(*header);
  std::copy(head.begin(), head.end(), now.begin());
  EXPECT_TRUE(now == frozen);
}

}  // namespace
}  // namespace bloomwall::filter
