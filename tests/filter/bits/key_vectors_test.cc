// The published vectors, tests/data/key_vectors.tsv: written by an implementation of its own (make_key_vectors.py).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/bits/section.h"

namespace bloomwall::filter {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::size_t from = 0;
  for (std::size_t to = text.find(at); to != std::string::npos; to = text.find(at, from)) {
    out.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  out.push_back(text.substr(from));
  return out;
}

std::vector<Row> read_rows() {
  std::ifstream in(BLOOMWALL_SOURCE_DIR "/tests/data/key_vectors.tsv");
  std::string line;
  std::getline(in, line);
  const auto names = split(line, '\t');
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const auto cells = split(line, '\t');
    EXPECT_EQ(cells.size(), names.size()) << line;
    Row row;
    for (std::size_t i = 0; i < std::min(cells.size(), names.size()); ++i) row[names[i]] = cells[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

template <typename T>
T number(const std::string& text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  EXPECT_TRUE(error == std::errc() && end == text.data() + text.size()) << text;
  return value;
}

SeriesKey series_key(const std::string& hex) {
  SeriesKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = number<std::uint8_t>(hex.substr(2 * i, 2), 16);
  return key;
}

std::string hex(const Hash128& h) {
  std::ostringstream out;
  for (const std::uint64_t half : {h.lo, h.hi}) {
    for (unsigned i = 0; i < 8; ++i) {
      constexpr const char* kDigits = "0123456789abcdef";
      const auto byte = (half >> (8 * i)) & 255;
      out << kDigits[byte >> 4] << kDigits[byte & 15];
    }
  }
  return out.str();
}

std::string unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      out += static_cast<char>(number<unsigned>(text.substr(i + 2, 2), 16));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

Hash128 path_hash(const KeyMaker& keys, const std::string& path) {
  Hash128 hash = keys.empty_path();
  for (const std::string& segment : split(path, '/')) {
    if (!segment.empty()) hash = keys.segment(segment, hash);
  }
  return hash;
}

struct Question {
  Hash128 key;
  Variant variant = 0;
  SectionKind kind = SectionKind::paths;
};

Question question_of(const Row& row) {
  const KeyMaker keys(series_key(row.at("series_key")));
  const std::string& what = row.at("question");
  if (what == "R") return {.key = keys.raw(unescape(row.at("host"))), .variant = 0, .kind = SectionKind::raw};
  const Hash128 host = keys.host(row.at("host"));
  EXPECT_EQ(hex(host), row.at("host_hash"));
  const auto about_host = [&host](Variant v) {
    return Question{.key = host, .variant = v, .kind = SectionKind::hosts};
  };
  if (what == "S") return about_host(host_variant(Kind::suffix));
  if (what == "X") return about_host(host_variant(Kind::exact_host));
  if (what == "W") return about_host(host_variant(Kind::subdomains));
  if (what == "mark-U") return about_host(kVariantMarkUrl);
  if (what == "mark-Q") return about_host(kVariantMarkQuery);
  if (what.starts_with("mark-D")) return about_host(directory_mark(number<unsigned>(what.substr(6))));
  const Hash128 path = path_hash(keys, row.at("path"));
  EXPECT_EQ(hex(path), row.at("path_hash"));
  if (what == "U") return {.key = keys.url(host, path)};
  if (what == "D") return {.key = keys.directory(host, path)};
  EXPECT_EQ(what, "Q");
  EXPECT_EQ(hex(keys.hash(row.at("query"))), row.at("query_hash"));
  return {.key = keys.url_query(host, path, keys.hash(row.at("query")))};
}

std::string joined(const BitPositions& bits) {
  std::string out;
  for (unsigned i = 0; i < bits.count; ++i) out += (i == 0 ? "" : ",") + std::to_string(bits.at[i]);
  return out;
}

// All bits of a page that insert() sets: what the file really holds.
std::vector<std::uint32_t> bits_set(Layout layout, const Place& place, const Question& q) {
  alignas(kLineBytes) std::array<std::byte, kPageBytes> page{};
  SectionWriter writer({.layout = layout, .pages = 1}, page.data(), q.kind);
  writer.insert(Place{.page = 0, .fingerprint = place.fingerprint}, q.variant);
  std::vector<std::uint32_t> out;
  for (std::uint32_t bit = 0; bit < kPageBytes * 8; ++bit) {
    if ((page[bit / 8] & static_cast<std::byte>(1U << (bit % 8))) != std::byte{0}) out.push_back(bit);
  }
  return out;
}

TEST(KeyVectorsTest, EveryRowIsReproduced) {
  const auto rows = read_rows();
  ASSERT_EQ(rows.size(), 55U);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.at("name") + " " + row.at("host").substr(0, 40));
    const Question q = question_of(row);
    EXPECT_EQ(hex(q.key), row.at("key"));
    EXPECT_EQ(q.variant, number<Variant>(row.at("variant")));
    for (const Layout layout : {Layout::sectors_2x8, Layout::lines_4x4}) {
      const Geometry geometry{.layout = layout, .pages = number<std::uint64_t>(row.at("pages"))};
      const Place place = place_of(geometry, q.kind, q.key);
      EXPECT_EQ(place.page, number<std::uint64_t>(row.at("page")));
      EXPECT_EQ(place.fingerprint, number<std::uint64_t>(row.at("fingerprint")));
      const auto bits = bit_positions(layout, q.kind, place.fingerprint, q.variant);
      ASSERT_EQ(bits.count, 16U);
      EXPECT_EQ(joined(bits), row.at(layout == Layout::sectors_2x8 ? "bits_2x8" : "bits_4x4"));
      std::vector<std::uint32_t> want(bits.at, bits.at + bits.count);
      std::sort(want.begin(), want.end());
      want.erase(std::unique(want.begin(), want.end()), want.end());
      EXPECT_EQ(bits_set(layout, place, q), want);
    }
  }
}

TEST(KeyVectorsTest, CoverEveryKindAndEveryMark) {
  std::map<std::string, int> questions;
  for (const Row& row : read_rows()) ++questions[row.at("question")];
  for (const char* q : {"S", "X", "W", "mark-U", "mark-Q", "U", "Q", "D", "R"}) EXPECT_GT(questions[q], 0) << q;
  for (unsigned depth = 1; depth <= kDeepestMark; ++depth) EXPECT_EQ(questions["mark-D" + std::to_string(depth)], 1);
}

}  // namespace
}  // namespace bloomwall::filter
