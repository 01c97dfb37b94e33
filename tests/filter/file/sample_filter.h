// What the tests of filter files share: a folder that vanishes, a small filter with fixed fields, bytes of files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/file/filter_file.h"
#include "filter/file/filter_writer.h"
#include "filter/file/header_bytes.h"

namespace bloomwall::filter::testing_support {

class TempDir {
 public:
  TempDir() {
    std::string name = std::filesystem::temp_directory_path() / "bloomwall-test-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline FilterWriter::Plan sample_plan() {
  FilterWriter::Plan plan;
  Header& h = plan.header;
  for (std::uint8_t i = 0; i < 16; ++i) {
    h.file_id[i] = static_cast<std::uint8_t>(i + 1);
    h.series_id[i] = static_cast<std::uint8_t>(0x80 + i);
  }
  for (std::uint8_t i = 0; i < 32; ++i) h.series_key[i] = static_cast<std::uint8_t>(0xc0 + i);
  h.sequence = 7;
  h.created = 1'700'000'000;
  h.valid_until = 1'800'000'000;
  h.unicode_version = 0x0F0000;
  h.kinds[index_of(Kind::suffix)] = {.entries = 11, .keys = 10};
  h.kinds[index_of(Kind::url)] = {.entries = 20, .keys = 20};
  h.kinds[index_of(Kind::raw)] = {.entries = 5, .keys = 5};
  h.marks = 4;
  h.hosts = 12;
  h.mark_mask = std::uint32_t{1} << kVariantMarkUrl;
  h.min_labels = 1;
  h.max_labels = 5;
  plan.hosts = Geometry{.layout = Layout::sectors_2x8, .pages = 1};
  plan.paths = Geometry{.layout = Layout::lines_4x4, .pages = 2};
  plan.raw = Geometry{.layout = Layout::sectors_2x8, .pages = 1};
  plan.info = {.category = "tests",
               .builder = "test 1",
               .sources = {{.name = "a.txt", .format = "plain", .bytes = 120, .entries = 36, .sha256 = {1, 2, 3}}},
               .provenance = {}};
  return plan;
}

// Hosts h0.example .. h9.example (S), URLs /p0 .. /p19 on h0.example (U, with its mark), raw keys r0 .. r4.
inline void insert_sample_keys(FilterWriter& writer) {
  const KeyMaker keys(writer.header().series_key);
  for (int i = 0; i < 10; ++i) writer.hosts()->insert(keys.host("h" + std::to_string(i) + ".example"), kVariantSuffix);
  const Hash128 host = keys.host("h0.example");
  writer.hosts()->insert(host, kVariantMarkUrl);
  for (int i = 0; i < 20; ++i) {
    writer.paths()->insert(keys.url(host, keys.segment("p" + std::to_string(i), keys.empty_path())));
  }
  for (int i = 0; i < 5; ++i) writer.raw()->insert(keys.raw("r" + std::to_string(i)));
}

inline void write_sample(const std::filesystem::path& path, FilterWriter::Plan plan = sample_plan()) {
  auto writer = FilterWriter::create(path, std::move(plan));
  ASSERT_TRUE(writer) << writer.error().text();
  insert_sample_keys(**writer);
  const auto done = (*writer)->commit();
  ASSERT_TRUE(done) << done.error().text();
}

// A file that was written now is a frozen one, octet for octet but for the predictions, which may become better.
inline void expect_frozen_bytes(const std::filesystem::path& written, const std::filesystem::path& frozen) {
  auto now = read_bytes(written);
  const auto before = read_bytes(frozen);
  auto header = parse_header(now, now.size());
  const auto frozen_header = parse_header(before, before.size());
  ASSERT_TRUE(header && frozen_header);
  header->predicted = frozen_header->predicted;
  const auto head = serialise_header(*header);
  std::copy(head.begin(), head.end(), now.begin());
  EXPECT_TRUE(now == before);
}

}  // namespace bloomwall::filter::testing_support
