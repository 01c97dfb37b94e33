// SPDX-License-Identifier: Apache-2.0
#include "filter/file/filter_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

using testing_support::read_bytes;
using testing_support::sample_plan;
using testing_support::TempDir;
using testing_support::write_bytes;
using testing_support::write_sample;
using Depth = FilterFile::Depth;

std::unique_ptr<FilterFile> open_or_fail(const std::filesystem::path& path) {
  auto file = FilterFile::open(path);
  EXPECT_TRUE(file) << file.error().text();
  return file ? *std::move(file) : nullptr;
}

TEST(FilterFileTest, AnswersWhatWasWritten) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = open_or_fail(dir / "a.bwf");
  ASSERT_NE(file, nullptr);
  const KeyMaker& keys = file->keys();
  for (int i = 0; i < 10; ++i) {
    const Hash128 host = keys.host("h" + std::to_string(i) + ".example");
    const std::uint32_t wanted = (1U << kVariantSuffix) | (1U << kVariantExactHost) | (1U << kVariantMarkUrl);
    const std::uint32_t want = (1U << kVariantSuffix) | (i == 0 ? 1U << kVariantMarkUrl : 0);
    EXPECT_EQ(file->hosts().test_variants(file->hosts().place(host), wanted), want) << i;
  }
  const Hash128 host = keys.host("h0.example");
  for (int i = 0; i < 40; ++i) {
    const Hash128 key = keys.url(host, keys.segment("p" + std::to_string(i), keys.empty_path()));
    EXPECT_EQ(file->paths().test(file->paths().place(key)), i < 20) << i;
  }
  for (int i = 0; i < 10; ++i) {
    const Place place = file->raw().place(keys.raw("r" + std::to_string(i)));
    EXPECT_EQ(file->raw().test(place), i < 5) << i;
  }
  EXPECT_FALSE(file->lost());
}

TEST(FilterFileTest, TellsItsHeaderAndInfo) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = open_or_fail(dir / "a.bwf");
  ASSERT_NE(file, nullptr);
  const Header want = sample_plan().header;
  EXPECT_EQ(file->header().file_id, want.file_id);
  EXPECT_EQ(file->header().sequence, 7U);
  EXPECT_EQ(file->header().mark_mask, want.mark_mask);
  EXPECT_EQ(file->header().file_bytes, std::filesystem::file_size(dir / "a.bwf"));
  EXPECT_GT(file->header().predicted.host_key, 0);
  EXPECT_GT(file->header().predicted.path_fill, 0);
  const auto info = file->info();
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->category, "tests");
  EXPECT_THAT(info->sources, testing::SizeIs(1));
  EXPECT_EQ(file->path(), dir / "a.bwf");
}

TEST(FilterFileTest, ASectionThatIsNotThereIsEmpty) {
  const TempDir dir;
  auto plan = sample_plan();
  plan.paths.reset();
  plan.hosts.reset();
  plan.header.kinds = {};
  plan.header.mark_mask = 0;
  auto writer = FilterWriter::create(dir / "r.bwf", plan);
  ASSERT_TRUE(writer);
  EXPECT_EQ((*writer)->hosts(), nullptr);
  EXPECT_EQ((*writer)->paths(), nullptr);
  ASSERT_TRUE((*writer)->commit());
  const auto file = open_or_fail(dir / "r.bwf");
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(file->hosts());
  EXPECT_FALSE(file->paths());
  EXPECT_TRUE(file->raw());
  EXPECT_TRUE(file->section_bytes(SectionType::hosts).empty());
}

TEST(FilterFileTest, RefusesWhatIsNoRegularFile) {
  const TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  for (const auto& path : {dir / "missing", dir.path(), dir / "fifo"}) {
    const auto file = FilterFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, Errc::io);
    EXPECT_THAT(file.error().where, testing::HasSubstr(path.string()));
  }
  write_bytes(dir / "empty", {});
  EXPECT_EQ(FilterFile::open(dir / "empty").error().code, Errc::too_short);
}

TEST(FilterFileTest, VerifyReportsEveryByteDone) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = open_or_fail(dir / "a.bwf");
  ASSERT_NE(file, nullptr);
  std::uint64_t last = 0;
  const auto progress = [&last](std::uint64_t done, std::uint64_t total) {
    EXPECT_GT(done, last);
    EXPECT_LE(done, total);
    last = done;
    return true;
  };
  EXPECT_TRUE(file->verify(Depth::accident, progress));
  EXPECT_EQ(last, file->header().file_bytes);
  EXPECT_TRUE(file->verify(Depth::tampering));
  const auto stopped = file->verify(Depth::accident, [](std::uint64_t, std::uint64_t) { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::io);
}

// True where open() and verify() accept the bytes.
bool accepted(const std::filesystem::path& path, Depth depth) {
  const auto file = FilterFile::open(path);
  return file && (*file)->verify(depth);
}

TEST(FilterFileTest, EveryChangedByteIsFoundAtBothDepths) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  const std::size_t size = read_bytes(path).size();
  ASSERT_TRUE(accepted(path, Depth::accident));
  ASSERT_LT(size, 40'000U);  // small enough to try them all
  std::fstream io(path, std::ios::binary | std::ios::in | std::ios::out);
  std::size_t found = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::streamoff>(i);
    io.seekg(at);
    const int old = io.get();
    const auto put = [&](int byte) {
      io.seekp(at);
      io.put(static_cast<char>(byte));
      io.flush();
    };
    put(old ^ (1 << (i % 8)));
    const Depth depth = i % 2 == 0 ? Depth::accident : Depth::tampering;
    if (accepted(path, depth)) {
      ADD_FAILURE() << "byte " << i;
    } else {
      ++found;
    }
    put(old);
  }
  EXPECT_EQ(found, size);
  EXPECT_TRUE(accepted(path, Depth::tampering));
}

TEST(FilterFileTest, EveryTruncationAndAnyTailIsRefused) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  const auto bytes = read_bytes(path);
  for (std::size_t length = 0; length < bytes.size(); length += (length < 4200 ? 1 : 61)) {
    write_bytes(path, std::span(bytes).first(length));
    const auto file = FilterFile::open(path);
    ASSERT_FALSE(file) << length;
    EXPECT_EQ(file.error().code, Errc::too_short) << length;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  write_bytes(path, longer);
  EXPECT_EQ(FilterFile::open(path).error().code, Errc::bad_header);
}

TEST(FilterFileTest, VerifyFindsAFileThatShrankAfterOpen) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  const auto file = open_or_fail(path);
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  const auto verified = file->verify(Depth::accident);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Errc::too_short);
}

TEST(FilterFileTest, AFileThatShrinksUnderLookUpsIsLostAndAnswersNo) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  const auto file = open_or_fail(path);
  ASSERT_NE(file, nullptr);
  const KeyMaker& keys = file->keys();
  const Place listed = file->paths().place(keys.url(keys.host("h0.example"), keys.segment("p1", keys.empty_path())));
  ASSERT_TRUE(file->paths().test(listed));
  ASSERT_EQ(truncate(path.c_str(), 4096), 0);
  EXPECT_FALSE(file->paths().test(listed));
  EXPECT_EQ(file->hosts().test_variants(file->hosts().place(keys.host("h0.example")), 1), 0U);
  EXPECT_TRUE(file->lost());
  EXPECT_FALSE(file->info()) << "whatever is read from a lost file is an error";
}

TEST(FilterFileTest, VerifyNamesTheDamagedSection) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  auto bytes = read_bytes(path);
  const auto offset = open_or_fail(path)->header().find(SectionType::paths)->offset;
  bytes[offset + 17] ^= std::byte{4};
  write_bytes(path, bytes);
  const auto verified = open_or_fail(path)->verify(Depth::accident);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Errc::bad_digest);
  EXPECT_THAT(verified.error().what, testing::HasSubstr("paths"));
}

// Leaves are read by several threads, and told of in their order all the same.
TEST(FilterFileTest, VerifyNamesTheFirstDamagedLeafOfMany) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  auto plan = sample_plan();
  plan.hosts->pages = 9 * kLeafBytes / kPageBytes - 3;
  write_sample(path, std::move(plan));
  const auto offset = open_or_fail(path)->header().find(SectionType::hosts)->offset;
  for (const Depth depth : {Depth::accident, Depth::tampering}) {
    std::uint64_t last = 0;
    EXPECT_TRUE(open_or_fail(path)->verify(
        depth, [&](std::uint64_t done, std::uint64_t) { return done > std::exchange(last, done); }));
  }
  std::fstream io(path, std::ios::binary | std::ios::in | std::ios::out);
  for (const std::uint64_t leaf : {8U, 5U, 6U}) {
    io.seekp(static_cast<std::streamoff>(offset + leaf * kLeafBytes + 77));
    io << "damaged";
  }
  io.close();
  for (const Depth depth : {Depth::accident, Depth::tampering}) {
    const auto verified = open_or_fail(path)->verify(depth);
    ASSERT_FALSE(verified);
    EXPECT_THAT(verified.error().what,
                testing::HasSubstr("section hosts is damaged within bytes " + std::to_string(offset + 5 * kLeafBytes) +
                                   " to " + std::to_string(offset + 6 * kLeafBytes - 1)));
  }
}

// A leaf of its own for each digest, and an SHA-256 that differs while XXH3 agrees: only the deep check may see it.
TEST(FilterFileTest, OnlyTheDeepCheckLooksAtSha256) {
  const TempDir dir;
  const auto path = dir / "a.bwf";
  write_sample(path);
  auto bytes = read_bytes(path);
  Header h = open_or_fail(path)->header();
  for (SectionEntry& section : h.sections) {
    if (section.type == SectionType::paths) section.sha_root[0] ^= 1;
  }
  const auto head = serialise_header(h);
  std::copy(head.begin(), head.end(), bytes.begin());
  write_bytes(path, bytes);
  EXPECT_TRUE(accepted(path, Depth::accident));
  EXPECT_FALSE(accepted(path, Depth::tampering));
}

// 6 GiB of hosts before the paths: offsets beyond 2^32 in a sparse file.
TEST(FilterFileTest, SectionsBeyond4GiBAreWhereTheHeaderSays) {
  const TempDir dir;
  const auto path = dir / "large.bwf";
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  Header h = sample_plan().header;
  h.kinds = {};
  const Geometry hosts{.layout = Layout::sectors_2x8, .pages = 6 * 1024 * kMiB / kPageBytes};
  const Geometry paths{.layout = Layout::lines_4x4, .pages = 1};
  const std::uint64_t after = 2 * kMiB + hosts.bytes();
  h.sections = {
      {.type = SectionType::hosts, .offset = 2 * kMiB, .length = hosts.bytes(), .geometry = hosts},
      {.type = SectionType::paths, .offset = after, .length = paths.bytes(), .geometry = paths},
      {.type = SectionType::leaves, .offset = after + kPageBytes, .length = (leaf_count(hosts.bytes()) + 1) * 48}};
  h.file_bytes = h.sections.back().offset + h.sections.back().length;
  write_bytes(path, serialise_header(h));
  std::error_code error;
  std::filesystem::resize_file(path, h.file_bytes, error);
  if (error) GTEST_SKIP() << "no sparse files of 6 GiB here";
  std::fstream io(path, std::ios::binary | std::ios::in | std::ios::out);
  io.seekp(static_cast<std::streamoff>(after));
  io.write(std::string(kPageBytes, '\xff').data(), kPageBytes);
  io.close();
  const auto file = open_or_fail(path);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->paths().test(file->paths().place(file->keys().raw("x"))));
  EXPECT_FALSE(file->hosts().test(file->hosts().place({.lo = 5, .hi = ~std::uint64_t{0}})));
  EXPECT_EQ(file->hosts().place({.lo = 5, .hi = ~std::uint64_t{0}}).page, hosts.pages - 1);
  EXPECT_FALSE(file->lost());
}

}  // namespace
}  // namespace bloomwall::filter
