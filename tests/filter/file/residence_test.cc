// SPDX-License-Identifier: Apache-2.0
#include "filter/file/residence.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "filter/file/filter_file.h"
#include "tests/filter/file/sample_filter.h"
#include "tests/support/page_cache.h"

namespace bloomwall::filter {
namespace {

using testing_support::TempDir;
using testing_support::write_bytes;
using testing_support::write_sample;

constexpr std::uint64_t kGiga = 1'000'000'000;

TEST(ResidenceTest, WhatFitsIsResidentAndWhatDoesNotIsPaged) {
  struct Case {
    MemoryUse use;
    std::uint64_t file, total, available;
    Residence want;  // unmanaged: refused
  };
  const Case cases[] = {
      {MemoryUse::automatic, 8 * kGiga, 24 * kGiga, 10 * kGiga, Residence::resident},
      {MemoryUse::automatic, 8 * kGiga, 24 * kGiga, 10 * kGiga - 1, Residence::paged},
      {MemoryUse::automatic, 30 * kGiga, 24 * kGiga, 20 * kGiga, Residence::paged},
      {MemoryUse::automatic, UINT64_MAX, 24 * kGiga, 20 * kGiga, Residence::paged},
      {MemoryUse::paged, 1000, 24 * kGiga, 20 * kGiga, Residence::paged},
      {MemoryUse::locked, 12 * kGiga, 24 * kGiga, 20 * kGiga, Residence::locked},
      {MemoryUse::locked, 12 * kGiga + 1, 24 * kGiga, 20 * kGiga, Residence::unmanaged},
      {MemoryUse::locked, 12 * kGiga, 24 * kGiga, 14 * kGiga, Residence::unmanaged},
      {MemoryUse::copied, 12 * kGiga, 24 * kGiga, 20 * kGiga, Residence::copied},
      {MemoryUse::copied, 12 * kGiga + 1, 24 * kGiga, 20 * kGiga, Residence::unmanaged},
      {MemoryUse::copied, UINT64_MAX, 24 * kGiga, 20 * kGiga, Residence::unmanaged},
  };
  for (const Case& c : cases) {
    const auto chosen = choose_residence(c.use, c.file, {.total = c.total, .available = c.available}, "a.bwf");
    const std::string what = std::to_string(c.file) + " of " + std::to_string(c.available);
    if (c.want == Residence::unmanaged) {
      ASSERT_FALSE(chosen) << what;
      EXPECT_EQ(chosen.error().code, Errc::limit) << what;
      continue;
    }
    ASSERT_TRUE(chosen) << what << chosen.error().text();
    EXPECT_EQ(*chosen, c.want) << what;
  }
}

TEST(ResidenceTest, TheMachineHasMemory) {
  const MemoryFacts facts = memory_facts();
  EXPECT_GT(facts.available, 0U);
  EXPECT_LE(facts.available, facts.total);
}

void expect_answers(const FilterFile& file) {
  const Hash128 host = file.keys().host("h0.example");
  for (int i = 0; i < 40; ++i) {
    const Hash128 key = file.keys().url(host, file.keys().segment("p" + std::to_string(i), file.keys().empty_path()));
    EXPECT_EQ(file.paths().test(file.paths().place(key)), i < 20) << i;
  }
}

std::unique_ptr<FilterFile> settled(const std::filesystem::path& path, MemoryUse use) {
  auto file = FilterFile::open(path);
  EXPECT_TRUE(file) << file.error().text();
  EXPECT_EQ((*file)->residence(), Residence::unmanaged);
  const auto outcome = (*file)->make_resident(use);
  EXPECT_TRUE(outcome) << outcome.error().text();
  return *std::move(file);
}

TEST(ResidenceTest, AnswersAreTheSameWhereverTheBytesAre) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  for (const MemoryUse use : {MemoryUse::automatic, MemoryUse::paged, MemoryUse::copied}) {
    const auto file = settled(dir / "a.bwf", use);
    expect_answers(*file);
    for (const auto depth : {FilterFile::Depth::accident, FilterFile::Depth::tampering}) {
      const auto whole = file->verify(depth);
      EXPECT_TRUE(whole) << to_string(file->residence()) << ": " << whole.error().text();
    }
  }
  EXPECT_EQ(settled(dir / "a.bwf", MemoryUse::automatic)->residence(), Residence::resident);
  EXPECT_EQ(settled(dir / "a.bwf", MemoryUse::paged)->residence(), Residence::paged);
}

TEST(ResidenceTest, ACopyNeedsItsFileNoLonger) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = settled(dir / "a.bwf", MemoryUse::copied);
  ASSERT_EQ(file->residence(), Residence::copied);
  std::filesystem::resize_file(dir / "a.bwf", 0);
  expect_answers(*file);
  EXPECT_FALSE(file->lost());
  EXPECT_TRUE(file->verify(FilterFile::Depth::accident));
}

TEST(ResidenceTest, ADamagedCopyIsFoundOut) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = settled(dir / "a.bwf", MemoryUse::copied);
  auto bytes = testing_support::read_bytes(dir / "a.bwf");
  bytes[bytes.size() / 2] ^= std::byte{1};
  write_bytes(dir / "b.bwf", bytes);
  const auto damaged = settled(dir / "b.bwf", MemoryUse::copied);
  EXPECT_FALSE(damaged->verify(FilterFile::Depth::accident));
}

TEST(ResidenceTest, LoadingStopsWhereItIsToldTo) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  for (const MemoryUse use : {MemoryUse::automatic, MemoryUse::copied}) {
    auto file = FilterFile::open(dir / "a.bwf");
    ASSERT_TRUE(file);
    const auto outcome = (*file)->make_resident(use, [](std::uint64_t, std::uint64_t) { return false; });
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Errc::io);
    EXPECT_EQ((*file)->residence(), Residence::unmanaged);
    expect_answers(**file);
  }
}

TEST(ResidenceTest, OnlyAPagedFileMayMakeItsAskersWait) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto resident = settled(dir / "a.bwf", MemoryUse::automatic);
  const std::byte* const page = resident->paths().bytes().data();
  EXPECT_FALSE(resident->may_wait(page));
  const auto paged = settled(dir / "a.bwf", MemoryUse::paged);
  expect_answers(*paged);  // touches the pages
  paged->check_page(paged->paths().bytes().data());
  EXPECT_FALSE(paged->may_wait(paged->paths().bytes().data()));
}

TEST(ResidenceTest, PagesThatLeftMemoryAreWaitedForUntilTheyAreBack) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = settled(dir / "a.bwf", MemoryUse::paged);
  const std::byte* const page = file->paths().bytes().data();
  bool is_awaited = false;
  for (int i = 0; i < 100 && !is_awaited; ++i) {  // a quick disk may bring it while it is asked for
    if (!test::drop_from_memory(dir / "a.bwf", file->header().find(SectionType::paths)->offset)) {
      GTEST_SKIP() << "this file system keeps its pages in memory";
    }
    is_awaited = file->may_wait(page);
  }
  EXPECT_TRUE(is_awaited);
  static_cast<void>(*const_cast<const volatile std::byte*>(page));
  EXPECT_FALSE(file->may_wait(page));
}

TEST(ResidenceTest, AFileThatIsLostIsNotWaitedFor) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = settled(dir / "a.bwf", MemoryUse::paged);
  std::filesystem::resize_file(dir / "a.bwf", 4096);
  const std::byte* const page = file->paths().bytes().data();
  static_cast<void>(*const_cast<const volatile std::byte*>(page));
  EXPECT_TRUE(file->lost());
  EXPECT_FALSE(file->may_wait(page));
}

}  // namespace
}  // namespace bloomwall::filter
