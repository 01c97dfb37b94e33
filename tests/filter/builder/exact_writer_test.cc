// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/exact_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "filter/bits/line_ops.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

constexpr FileId kFilter{1, 2, 3};

EntryKeys key_number(std::uint64_t n) {
  const std::uint64_t lo = bits::mix64(2 * n + 1);
  const Hash128 key{.lo = lo, .hi = bits::mix64(lo)};
  if (n % 3 == 0) return {.kind = Kind::suffix, .host = key, .host_variant = kVariantSuffix};
  return {.kind = n % 3 == 1 ? Kind::url : Kind::raw, .key = key};
}
std::uint64_t fingerprint_of(const EntryKeys& keys) {
  return exact_fingerprint(keys.kind, is_host_kind(keys.kind) ? keys.host : keys.key);
}

class ExactWriterTest : public testing::Test {
 protected:
  // Keys 0 .. count-1, every tenth twice, by so many workers.
  ExactHeader write(const std::string& name, std::uint64_t count, std::uint64_t ram, unsigned workers) const {
    ExactWriter writer(dir_.path() / name, ram);
    writer.expect_workers(workers);
    {
      std::vector<std::jthread> threads;
      for (unsigned w = 0; w < workers; ++w) {
        threads.emplace_back([&writer, count, workers, w] {
          for (std::uint64_t n = w; n < count; n += workers) {
            writer.seen(w, key_number(n));
            if (n % 10 == 0) writer.seen(w, key_number(n));
          }
        });
      }
    }
    EXPECT_TRUE(writer.check().has_value());
    const auto header = writer.write(kFilter);
    EXPECT_TRUE(header.has_value()) << header.error().text();
    EXPECT_TRUE(writer.written().commit().has_value());
    return header.value_or(ExactHeader{});
  }
  std::string bytes_of(const std::string& name) const {
    std::ifstream in(dir_.path() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  test::TempDir dir_;
};

TEST_F(ExactWriterTest, ConfirmsEveryKeyAndRefutesOthers) {
  constexpr std::uint64_t kCount = 100'000;
  const ExactHeader header = write("f.bwx", kCount, 64 << 20, 2);
  EXPECT_EQ(header.fingerprints, kCount);
  const auto side = ExactSide::open(dir_.path() / "f.bwx", header.sha_root);
  ASSERT_TRUE(side.has_value()) << side.error().text();
  EXPECT_TRUE((*side)->verify(FilterFile::Depth::tampering).has_value());
  std::uint64_t confirmed = 0;
  std::uint64_t refuted = 0;
  for (std::uint64_t n = 0; n < kCount; ++n) {
    if ((*side)->ask(fingerprint_of(key_number(n))) == ExactAnswer::confirmed) ++confirmed;
    if ((*side)->ask(fingerprint_of(key_number(kCount + n))) == ExactAnswer::refuted) ++refuted;
  }
  EXPECT_EQ(confirmed, kCount);
  EXPECT_EQ(refuted, kCount) << "expected to be wrong " << kCount * residual_error(header) << " times";
  EXPECT_LT(header.file_bytes, kCount * 6);
}

TEST_F(ExactWriterTest, MemoryAndThreadsMakeNoDifference) {
  constexpr std::uint64_t kCount = 700'000;  // three runs of the least memory
  write("one.bwx", kCount, 64 << 20, 1);
  write("two.bwx", kCount, 0, 3);
  EXPECT_TRUE(bytes_of("one.bwx") == bytes_of("two.bwx"));
  EXPECT_GT(bytes_of("one.bwx").size(), kCount);
}

TEST_F(ExactWriterTest, NoEntriesMakeAFileThatRefutesAll) {
  const Sha256 root = write("none.bwx", 0, 0, 1).sha_root;
  const auto side = ExactSide::open(dir_.path() / "none.bwx", root);
  ASSERT_TRUE(side.has_value()) << side.error().text();
  EXPECT_TRUE((*side)->verify(FilterFile::Depth::accident).has_value());
  EXPECT_EQ((*side)->ask(42), ExactAnswer::refuted);
}

TEST_F(ExactWriterTest, BelongsToOneFilter) {
  const Sha256 root = write("f.bwx", 100, 0, 1).sha_root;
  ASSERT_TRUE(ExactSide::open(dir_.path() / "f.bwx", root).has_value());
  for (const Sha256& wrong : {write("g.bwx", 101, 0, 1).sha_root, Sha256{}}) {  // for the same file id
    const auto side = ExactSide::open(dir_.path() / "f.bwx", wrong);
    ASSERT_FALSE(side.has_value());
    EXPECT_EQ(side.error().code, Errc::wrong_base);
  }
}

TEST_F(ExactWriterTest, VerifyFindsAnyChangedByteOfTheBody) {
  const Sha256 root = write("f.bwx", 5000, 0, 1).sha_root;
  const std::string whole = bytes_of("f.bwx");
  for (const std::size_t at : {std::size_t{4096}, std::size_t{5000}, whole.size() - 1}) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    dir_.write("damaged.bwx", damaged);
    const auto side = ExactSide::open(dir_.path() / "damaged.bwx", root);
    if (!side) continue;  // the directory is checked at once
    const auto verified = (*side)->verify(FilterFile::Depth::accident);
    ASSERT_FALSE(verified.has_value()) << at;
    EXPECT_EQ(verified.error().code, Errc::bad_digest);
  }
}

// A refutation lets pass: of a file that was written to since it was checked nothing refutes, and nothing confirms.
TEST_F(ExactWriterTest, WrittenToWhileItIsServedItSaysNothingAndACopyWhatItSaid) {
  constexpr std::uint64_t kCount = 5000;
  const Sha256 root = write("f.bwx", kCount, 0, 1).sha_root;
  const auto path = dir_.path() / "f.bwx";
  const auto original = ExactSide::open(path, root);
  const auto copy = ExactSide::open(path, root, {.wanted = true});
  ASSERT_TRUE(original && copy);
  ASSERT_EQ((*original)->served_from(), ServedFrom::original);
  EXPECT_FALSE((*original)->notice_change());
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(kHeaderBytes));
    file << std::string(3 * kExactPageBytes, '\x11');
    file.seekp(0, std::ios::end);
    file << 'x';  // of another length, so that no clock is needed to tell
  }
  EXPECT_TRUE((*original)->notice_change());
  EXPECT_TRUE((*original)->lost());
  EXPECT_FALSE((*copy)->notice_change());
  for (std::uint64_t n = 0; n < kCount; ++n) {
    const std::uint64_t listed = fingerprint_of(key_number(n));
    ASSERT_EQ((*original)->ask(listed), ExactAnswer::unknown) << n;
    ASSERT_EQ((*copy)->ask(listed), ExactAnswer::confirmed) << n;
  }
}

// The directory of pages is in memory since the file was opened, the pages are read again: both have to be what is
// verified.
TEST_F(ExactWriterTest, WhatWasOtherThanNowWhenItWasOpenedIsRefused) {
  const Sha256 root = write("f.bwx", 5000, 0, 1).sha_root;
  const auto path = dir_.path() / "f.bwx";
  const std::string whole = bytes_of("f.bwx");
  const auto time = std::filesystem::last_write_time(path);
  std::string other = whole;
  other.back() = static_cast<char>(other.back() ^ 1);  // the last page seems to begin behind all fingerprints
  dir_.write("f.bwx", other);
  std::filesystem::last_write_time(path, time);
  const auto side = ExactSide::open(path, root);
  ASSERT_TRUE(side.has_value()) << side.error().text();
  dir_.write("f.bwx", whole);
  std::filesystem::last_write_time(path, time);
  const auto verified = (*side)->verify(FilterFile::Depth::tampering);
  ASSERT_FALSE(verified.has_value());
  EXPECT_EQ(verified.error().code, Errc::io) << verified.error().text();
  const auto again = ExactSide::open(path, root);
  ASSERT_TRUE(again.has_value());
  const auto touched = (*again)->verify(FilterFile::Depth::tampering, [&](std::uint64_t, std::uint64_t) {
    std::filesystem::last_write_time(path, {});
    return true;
  });
  EXPECT_FALSE(touched.has_value()) << "written to while it was verified";
}

TEST_F(ExactWriterTest, LeavesNothingBehind) {
  write("f.bwx", 700'000, 0, 2);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    if (entry.exists()) ++files;
  }
  EXPECT_EQ(files, 1U);
}

TEST(ExactRuns, GiveBackEachNumberOnceInOrder) {
  const test::TempDir dir;
  ExactRuns runs(dir.path(), 0);
  std::vector<std::uint64_t> batch;
  for (std::uint64_t n = 0; n < 800'000; ++n) {
    batch.push_back(bits::mix64(n % 600'000));
    if (batch.size() < 1000) continue;
    ASSERT_TRUE(runs.add(batch).has_value());
    batch.clear();
  }
  EXPECT_GE(runs.runs(), 2U);
  std::uint64_t count = 0;
  std::uint64_t last = 0;
  const auto done = runs.drain([&](std::uint64_t n) -> Result<void> {
    if (count > 0) {
      EXPECT_GT(n, last);
    }
    last = n;
    ++count;
    return {};
  });
  EXPECT_TRUE(done.has_value());
  EXPECT_EQ(count, 600'000U);
}

}  // namespace
}  // namespace bloomwall::filter
