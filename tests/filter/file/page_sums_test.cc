// CRC-32C, the sums of a file's pages, and pages that are not what was written.
// SPDX-License-Identifier: Apache-2.0
#include "filter/file/page_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/leaves.h"
#include "tests/filter/file/sample_filter.h"
#include "tests/support/seed.h"

namespace bloomwall::filter {
namespace {

using testing_support::TempDir;
using testing_support::write_sample;

TEST(Crc32cTest, IsThatOfRfc3720) {
  std::vector<std::uint8_t> ascending(32);
  std::iota(ascending.begin(), ascending.end(), std::uint8_t{0});
  const std::string digits = "123456789";
  const struct {
    const char* name;
    std::vector<std::uint8_t> bytes;
    std::uint32_t want;
  } cases[] = {
      {"none", {}, 0},
      {"32 zeros", std::vector<std::uint8_t>(32), 0x8A9136AA},
      {"32 ones", std::vector<std::uint8_t>(32, 0xFF), 0x62A8AB43},
      {"32 ascending", ascending, 0x46DD794E},
      {"nine digits", {digits.begin(), digits.end()}, 0xE3069283},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(crc32c(std::as_bytes(std::span(c.bytes))), c.want) << c.name;
    EXPECT_EQ(crc32c_portable(std::as_bytes(std::span(c.bytes))), c.want) << c.name;
  }
}

TEST(Crc32cTest, BothWaysAgreeAtEveryLength) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(4099);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (std::size_t length = 0; length < 200; ++length) {
    const auto part = std::span(bytes).subspan(random() % 64, length);
    EXPECT_EQ(crc32c(part), crc32c_portable(part)) << length;
  }
  EXPECT_EQ(crc32c(bytes), crc32c_portable(bytes));
}

TEST(PageSumsTest, EveryPageOfAFileHasItsOwn) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = FilterFile::open(dir / "a.bwf");
  ASSERT_TRUE(file);
  const auto sums = (*file)->read_page_sums();
  ASSERT_TRUE(sums) << sums.error().text();
  ASSERT_FALSE(sums->empty());
  std::uint64_t pages = 0;
  for (const SectionType type : {SectionType::hosts, SectionType::paths, SectionType::raw}) {
    const SectionEntry* const section = (*file)->header().find(type);
    if (section == nullptr) continue;
    const auto bytes = (*file)->section_bytes(type);
    for (std::uint64_t at = 0; at < bytes.size(); at += kPageBytes, ++pages) {
      std::vector<std::byte> page(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(at + kPageBytes));
      EXPECT_TRUE(sums->matches(section->offset + at, page));
      page[pages % kPageBytes] ^= std::byte{1};
      EXPECT_FALSE(sums->matches(section->offset + at, page)) << "one bit";
    }
  }
  const SectionEntry* const section = (*file)->header().find(SectionType::page_sums);
  ASSERT_NE(section, nullptr);
  EXPECT_FALSE(section->critical);
  EXPECT_EQ(section->length, 4 * pages);
  const std::vector<std::byte> other(kPageBytes);
  EXPECT_TRUE(sums->matches(0, other)) << "the header has none";
}

TEST(PageSumsTest, AsManyAsThereArePagesOrRefused) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = FilterFile::open(dir / "a.bwf");
  const auto whole = (*file)->section_bytes(SectionType::page_sums);
  EXPECT_TRUE(PageSums::parse(whole, (*file)->header()));
  for (const std::size_t length : {std::size_t{0}, std::size_t{3}, whole.size() - 4, whole.size() - 1}) {
    const auto refused = PageSums::parse(whole.first(length), (*file)->header());
    ASSERT_FALSE(refused) << length;
    EXPECT_EQ(refused.error().code, Errc::bad_section);
  }
}

// Sealed by all digests, but not those of the pages: a reader of pages would give up a good file, so `verify` compares
// them.
TEST(PageSumsTest, SumsThatAreNotThoseOfThePagesAreFoundByVerify) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  for (const std::byte flip : {std::byte{0}, std::byte{1}}) {
    auto bytes = testing_support::read_bytes(dir / "a.bwf");
    auto header = parse_header(bytes, bytes.size());
    ASSERT_TRUE(header) << header.error().text();
    const auto bytes_of = [&](const SectionEntry& section) {
      return std::span(bytes).subspan(section.offset, section.length);
    };
    const auto seal = [&](SectionType type) {
      for (SectionEntry& section : header->sections) {
        if (section.type != type) continue;
        const Roots roots = roots_of(digest_leaves(bytes_of(section)));
        section.xxh_root = roots.xxh;
        section.sha_root = roots.sha;
      }
    };
    const auto sums = bytes_of(*header->find(SectionType::page_sums));
    const auto leaves = bytes_of(*header->find(SectionType::leaves));
    sums.front() ^= flip;
    const std::vector<LeafDigest> records = digest_leaves(sums);
    ASSERT_EQ(records.size(), 1U);
    std::memcpy(leaves.last(kLeafRecordBytes).data(), records.data(), kLeafRecordBytes);
    seal(SectionType::page_sums);
    seal(SectionType::leaves);
    const auto head = serialise_header(*header);
    std::copy(head.begin(), head.end(), bytes.begin());
    testing_support::write_bytes(dir / "b.bwf", bytes);
    const auto file = FilterFile::open(dir / "b.bwf");
    ASSERT_TRUE(file) << file.error().text();
    const auto whole = (*file)->verify(FilterFile::Depth::accident);
    EXPECT_EQ(whole.has_value(), flip == std::byte{0});
    if (!whole) {
      EXPECT_EQ(whole.error().code, Errc::bad_digest);
    }
  }
}

TEST(PageSumsTest, APageOfAPagedFileThatIsNotWhatWasWrittenMakesItLost) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  auto file = FilterFile::open(dir / "a.bwf");
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->make_resident(MemoryUse::paged));
  const auto paths = (*file)->section_bytes(SectionType::paths);
  (*file)->check_page(paths.data());
  (*file)->check_page(reinterpret_cast<const std::byte*>(&dir));
  EXPECT_FALSE((*file)->lost());
  std::fstream out(dir / "a.bwf", std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>((*file)->header().find(SectionType::paths)->offset + 77));
  out << 'x' << std::flush;
  (*file)->check_page(paths.data());
  EXPECT_TRUE((*file)->lost());
}

}  // namespace
}  // namespace bloomwall::filter
