// Files that are copied before they are served, and files that are watched because they are not.
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "filter/file/filter_file.h"
#include "filter/file/mapped_file.h"
#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

using testing_support::TempDir;
using testing_support::write_bytes;
using testing_support::write_sample;

std::vector<std::byte> ones(std::size_t bytes) { return std::vector<std::byte>(bytes, std::byte{1}); }

bool all_ones(const MappedFile& map) {
  return std::ranges::all_of(map.bytes(), [](std::byte b) { return b == std::byte{1}; });
}

void overwrite(const std::filesystem::path& path, std::uint64_t offset, const std::string& bytes) {
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(offset));
  out << bytes;
}

std::unique_ptr<MappedFile> taken(const std::filesystem::path& path, const OwnCopy& copy) {
  auto map = MappedFile::open(path);
  EXPECT_TRUE(map) << map.error().text();
  const auto outcome = (*map)->own_copy(copy);
  EXPECT_TRUE(outcome) << outcome.error().text();
  return *std::move(map);
}

TEST(OwnCopyTest, WhereTheBytesAreServedFrom) {
  const TempDir dir;
  write_bytes(dir / "tiny", ones(5000));
  write_bytes(dir / "small", ones(kTinyFile + 1));
  std::filesystem::create_directory(dir / "state");
  std::filesystem::create_directory(dir / "none");
  std::filesystem::remove(dir / "none");
  struct Case {
    const char* name;
    const char* file;
    OwnCopy copy;
    ServedFrom want;
  };
  const Case cases[] = {
      {"not wanted", "tiny", {}, ServedFrom::original},
      {"tiny", "tiny", {.wanted = true, .folder = dir / "state"}, ServedFrom::memory_copy},
      {"tiny, for the disk", "tiny", {.wanted = true, .to_disk = true, .folder = dir / "state"}, ServedFrom::file_copy},
      {"small", "small", {.wanted = true, .folder = dir / "state"}, ServedFrom::file_copy},
      {"no folder", "small", {.wanted = true}, ServedFrom::memory_copy},
      {"a folder that is not there", "small", {.wanted = true, .folder = dir / "none"}, ServedFrom::memory_copy},
      {"a folder in memory", "small", {.wanted = true, .folder = "/dev/shm"}, ServedFrom::memory_copy},
  };
  for (const Case& c : cases) {
    const auto map = taken(dir / c.file, c.copy);
    EXPECT_EQ(map->served_from(), c.want) << c.name;
    EXPECT_TRUE(all_ones(*map)) << c.name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir / "state")) << "a copy has no name";
}

TEST(OwnCopyTest, ACopyIsAsItWasWhateverIsDoneToTheFile) {
  const TempDir dir;
  for (const bool to_disk : {false, true}) {
    write_bytes(dir / "a", ones(20000));
    const auto map = taken(dir / "a", {.wanted = true, .to_disk = to_disk, .folder = dir.path()});
    overwrite(dir / "a", 100, std::string(9000, 'x'));
    std::filesystem::resize_file(dir / "a", 5000);
    EXPECT_TRUE(all_ones(*map));
    EXPECT_FALSE(map->changed());
    EXPECT_FALSE(map->lost());
    std::vector<std::byte> read(20000);
    EXPECT_EQ(*map->read_at(0, read), read.size());
    EXPECT_EQ(read, ones(20000));
  }
}

// A sparse file that is too large for a copy without being asked for.
class LargeFile : public testing::Test {
 protected:
  void SetUp() override {
    write_bytes(path_, ones(5000));
    std::filesystem::resize_file(path_, kSmallFile + 1);
  }
  TempDir dir_;
  const std::filesystem::path path_ = dir_ / "large";
};

TEST_F(LargeFile, IsWatched) {
  const struct {
    const char* name;
    std::function<void(const std::filesystem::path&)> change;
    bool seen;
  } cases[] = {
      {"nothing", [](const auto&) {}, false},
      {"one octet", [](const auto& p) { overwrite(p, 70, "x"); }, true},
      {"cut within a page", [](const auto& p) { std::filesystem::resize_file(p, kSmallFile); }, true},
      {"longer", [](const auto& p) { std::filesystem::resize_file(p, kSmallFile + 2); }, true},
      {"touched", [](const auto& p) { std::filesystem::last_write_time(p, {}); }, true},
      {"another mode", [](const auto& p) { ::chmod(p.c_str(), 0600); }, false},
      {"another name", [](const auto& p) { std::filesystem::rename(p, p.string() + "2"); }, false},
  };
  for (const auto& c : cases) {
    SetUp();
    const auto map = taken(path_, {.wanted = true});
    ASSERT_EQ(map->served_from(), ServedFrom::original);
    c.change(path_);
    EXPECT_EQ(map->changed(), c.seen) << c.name;
    EXPECT_FALSE(map->lost()) << "who watches decides";
  }
}

// However soon after the last write: the clock of files goes in ticks of some milliseconds.
TEST_F(LargeFile, AWriteRightAfterOneIsSeen) {
  for (int round = 0; round < 50; ++round) {
    overwrite(path_, 0, "a");
    const auto map = taken(path_, {.wanted = true});
    overwrite(path_, 0, "b");
    EXPECT_TRUE(map->changed()) << round;
  }
}

TEST_F(LargeFile, WhatMustBeCopiedIsRefusedWhereOthersMayWriteToIt) {
  const OwnCopy copy{.wanted = true, .required = true};
  const auto outcome_with = [&](mode_t mode) {
    EXPECT_EQ(::chmod(path_.c_str(), mode), 0);
    const auto map = MappedFile::open(path_);
    return (*map)->own_copy(copy);
  };
  for (const mode_t mode : {0644U, 0600U, 0444U}) EXPECT_TRUE(outcome_with(mode)) << mode;
  for (const mode_t mode : {0664U, 0646U, 0666U}) {
    const auto outcome = outcome_with(mode);
    ASSERT_FALSE(outcome) << mode;
    EXPECT_EQ(outcome.error().code, Errc::io) << "it is the room that lacks: " << outcome.error().text();
  }
  EXPECT_EQ(taken(path_, {.wanted = true, .required = true, .fits_memory = true})->served_from(),
            ServedFrom::memory_copy);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(outcome_with(0644)) << "its owner may";
}

// What a reload goes by: the same version is the same bytes, whatever is done to the times that can be set.
TEST(FileVersionTest, IsAnotherOneAfterEveryChange) {
  const TempDir dir;
  write_bytes(dir / "a", ones(5000));
  auto version = version_of(dir / "a");
  ASSERT_TRUE(version);
  EXPECT_EQ(version->stamp, stamp_of(dir / "a"));
  EXPECT_TRUE(is_stable(*version));
  EXPECT_EQ(version_of(dir / "a"), version) << "reading it is no change";
  const std::vector<std::function<void()>> changes{[&] { overwrite(dir / "a", 100, "x"); },
                                                   [&] {
                                                     const auto written = std::filesystem::last_write_time(dir / "a");
                                                     overwrite(dir / "a", 200, "x");
                                                     std::filesystem::last_write_time(dir / "a", written);
                                                   },
                                                   [&] { ::chmod((dir / "a").c_str(), 0640); },
                                                   [&] { std::filesystem::resize_file(dir / "a", 4000); },
                                                   [&] {
                                                     write_bytes(dir / "b", ones(4000));
                                                     std::filesystem::rename(dir / "b", dir / "a");
                                                   }};
  for (const auto& change : changes) {
    change();
    const auto next = version_of(dir / "a");
    ASSERT_TRUE(next);
    EXPECT_NE(next, version);
    EXPECT_TRUE(is_stable(*next)) << "or the next change could go unseen";
    EXPECT_EQ((*MappedFile::open(dir / "a"))->version(), next);
    version = next;
  }
  EXPECT_EQ(version_of(dir / "nothing"), std::nullopt);
}

TEST(FileVersionTest, OfTheFutureOrOfWholeSecondsIsNotSettled) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  FileVersion version{.stamp = {}, .seconds = now.tv_sec + 100, .nanoseconds = 5};
  EXPECT_FALSE(is_stable(version));
  version.seconds = now.tv_sec - 1;
  EXPECT_TRUE(is_stable(version));
  version.nanoseconds = 0;
  EXPECT_FALSE(is_stable(version)) << "the file system may tell seconds apart, and no less";
  version.seconds = now.tv_sec - 5;
  EXPECT_TRUE(is_stable(version));
}

TEST(OwnCopyTest, AFilterThatIsWrittenToWhileItIsReadIsRefused) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = FilterFile::open(dir / "a.bwf");
  ASSERT_TRUE(file);
  const auto write = [&](std::uint64_t, std::uint64_t) {
    std::filesystem::last_write_time(dir / "a.bwf", {});
    return true;
  };
  const auto verified = (*file)->verify(FilterFile::Depth::accident, write);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Errc::io) << verified.error().text();
  write_sample(dir / "b.bwf");
  const auto other = FilterFile::open(dir / "b.bwf");
  const auto settled = (*other)->make_resident(MemoryUse::automatic,
                                               [&](std::uint64_t, std::uint64_t) {
                                                 std::filesystem::last_write_time(dir / "b.bwf", {});
                                                 return true;
                                               },
                                               {.wanted = true});
  EXPECT_FALSE(settled);
}

TEST(OwnCopyTest, AFilterThatIsServedItselfIsLostOnceItIsWrittenTo) {
  const TempDir dir;
  write_sample(dir / "a.bwf");
  const auto file = FilterFile::open(dir / "a.bwf");
  ASSERT_TRUE(file);
  EXPECT_FALSE((*file)->notice_change());
  EXPECT_FALSE((*file)->lost());
  overwrite(dir / "a.bwf", 9000, "x");
  EXPECT_TRUE((*file)->notice_change());
  EXPECT_TRUE((*file)->lost());
}

}  // namespace
}  // namespace bloomwall::filter
