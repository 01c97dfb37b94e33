// SPDX-License-Identifier: Apache-2.0
#include "filter/file/temp_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/filter/file/sample_filter.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;
using testing_support::read_bytes;
using testing_support::TempDir;
using testing_support::write_bytes;

void put(const fs::path& path, std::string_view text) { write_bytes(path, std::as_bytes(std::span(text))); }

bool write_and_commit(const fs::path& target, std::string_view text) {
  auto file = TempFile::create(target);
  if (!file) return false;
  EXPECT_EQ(pwrite(file->descriptor(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  return file->commit().has_value();
}

TEST(TempFileTest, TheNameIsHiddenAndRecognisable) {
  const TempDir dir;
  const auto file = TempFile::create(dir / "list.bwf");
  ASSERT_TRUE(file);
  EXPECT_THAT(file->path().filename().string(), testing::MatchesRegex("\\.list\\.bwf\\.......\\.bwf-tmp"));
  struct stat status{};
  ASSERT_EQ(fstat(file->descriptor(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U) << "nobody else sees an unfinished file";
}

TEST(TempFileTest, LeftoversOfDeadBuildsOfTheSameTargetAreRemoved) {
  const TempDir dir;
  put(dir / ".a.bwf.AbCdEf.bwf-tmp", "dead");
  put(dir / ".a.bwf.xxxxxx.bwf-tmp", "dead too");
  put(dir / ".b.bwf.AbCdEf.bwf-tmp", "of another target");
  put(dir / ".a.bwf.toolong.bwf-tmp", "not ours");
  put(dir / "a.bwf.AbCdEf.bwf-tmp", "not hidden");
  fs::create_directory(dir / ".a.bwf.folder.bwf-tmp");
  fs::create_symlink(dir / "a.bwf.AbCdEf.bwf-tmp", dir / ".a.bwf.linked.bwf-tmp");
  ASSERT_TRUE(write_and_commit(dir / "a.bwf", "new"));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path())) names.push_back(entry.path().filename().string());
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("a.bwf", ".b.bwf.AbCdEf.bwf-tmp", ".a.bwf.toolong.bwf-tmp",
                                            "a.bwf.AbCdEf.bwf-tmp", ".a.bwf.folder.bwf-tmp", ".a.bwf.linked.bwf-tmp"));
}

TEST(TempFileTest, ABuildThatStillLivesKeepsItsFile) {
  const TempDir dir;
  auto first = TempFile::create(dir / "a");
  ASSERT_TRUE(first);
  ASSERT_TRUE(write_and_commit(dir / "a", "second"));
  EXPECT_TRUE(fs::exists(first->path()));
  ASSERT_TRUE(first->commit());
  EXPECT_EQ(read_bytes(dir / "a").size(), 0U) << "the last commit wins";
  EXPECT_EQ(dir.entries(), 1U);
}

TEST(TempFileTest, ALinkIsFollowedToTheFileItNames) {
  const TempDir dir;
  fs::create_directory(dir / "real");
  put(dir / "real" / "a", "old");
  fs::create_symlink("real/a", dir / "a");
  ASSERT_TRUE(write_and_commit(dir / "a", "newer"));
  EXPECT_TRUE(fs::is_symlink(dir / "a"));
  EXPECT_EQ(read_bytes(dir / "real" / "a").size(), 5U);
  fs::create_symlink("nowhere", dir / "dangling");
  EXPECT_FALSE(write_and_commit(dir / "dangling", "x"));
}

TEST(TempFileTest, ATargetThatIsNoFileIsRefused) {
  const TempDir dir;
  fs::create_directory(dir / "folder");
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  for (const char* name : {"folder", "fifo"}) {
    const auto file = TempFile::create(dir / name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code, Errc::io);
  }
  EXPECT_EQ(dir.entries(), 2U);
}

TEST(TempFileTest, ARelativeNameIsBesideItself) {
  const TempDir dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  EXPECT_TRUE(write_and_commit("plain", "x"));
  fs::current_path(before);
  EXPECT_TRUE(fs::exists(dir / "plain"));
}

}  // namespace
}  // namespace bloomwall::filter
