// SPDX-License-Identifier: Apache-2.0
#include "filter/file/temp_file.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/handles.h"
#include "tests/filter/file/sample_filter.h"
#include "tests/support/refused_calls.h"

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
  fs::create_symlink("second", dir / "first");
  fs::create_symlink("first", dir / "second");
  EXPECT_FALSE(write_and_commit(dir / "first", "x"));
  fs::create_symlink(fs::path("real") / ".." / "a", dir / "chain");
  ASSERT_TRUE(write_and_commit(dir / "chain", "newest"));
  EXPECT_EQ(read_bytes(dir / "real" / "a").size(), 6U);
}

TEST(TempFileTest, ALinkThatSomebodyElseHasMadeIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const TempDir dir;
  put(dir / "secret", "old");
  fs::create_symlink("secret", dir / "theirs");
  ASSERT_EQ(lchown((dir / "theirs").c_str(), 1234, 2345), 0);
  fs::create_symlink("theirs", dir / "ours");
  for (const char* const name : {"theirs", "ours"}) {
    const auto file = TempFile::create(dir / name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().where, (dir / "theirs").string());
    EXPECT_THAT(file.error().what, testing::HasSubstr("a link that user 1234 has made"));
  }
  EXPECT_EQ(read_bytes(dir / "secret").size(), 3U);
  EXPECT_EQ(dir.entries(), 3U);
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

struct stat status_of(const fs::path& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status;
}

TEST(TempFileTest, ANewFileTakesTheUmask) {
  const TempDir dir;
  for (const mode_t mask : {0022U, 0077U, 0002U}) {
    const mode_t before = umask(mask);
    const fs::path target = dir / ("a" + std::to_string(mask));
    EXPECT_TRUE(write_and_commit(target, "x"));
    umask(before);
    EXPECT_EQ(status_of(target).st_mode & 07777, 0666U & ~mask);
  }
}

TEST(TempFileTest, WhatReplacesAFileHasItsModeWhateverTheUmask) {
  const TempDir dir;
  put(dir / "a", "old");
  for (const mode_t mode : {0600U, 0644U, 0664U, 0440U}) {
    ASSERT_EQ(chmod((dir / "a").c_str(), mode), 0);
    ASSERT_TRUE(write_and_commit(dir / "a", "new"));
    EXPECT_EQ(status_of(dir / "a").st_mode & 07777, mode);
  }
}

TEST(TempFileTest, WhatReplacesAFileHasItsOwnerGroupAndAccessList) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const TempDir dir;
  put(dir / "a", "old");
  ASSERT_EQ(chown((dir / "a").c_str(), 1234, 2345), 0);
  ASSERT_EQ(chmod((dir / "a").c_str(), 0640), 0);
  // user::rw-, user:4321:r--, group::r--, mask::r--, other::---, as linux/posix_acl_xattr.h has it.
  std::vector<char> list{2, 0, 0, 0};
  const auto entry = [&](unsigned tag, unsigned permissions, unsigned id) {
    for (const unsigned part : {tag & 255U, tag >> 8U, permissions & 255U, permissions >> 8U}) {
      list.push_back(static_cast<char>(part));
    }
    for (unsigned shift = 0; shift < 32; shift += 8) list.push_back(static_cast<char>(id >> shift));
  };
  entry(1, 6, ~0U);
  entry(2, 4, 4321);
  entry(4, 4, ~0U);
  entry(16, 4, ~0U);
  entry(32, 0, ~0U);
  const bool has_lists = setxattr((dir / "a").c_str(), "system.posix_acl_access", list.data(), list.size(), 0) == 0;
  ASSERT_TRUE(write_and_commit(dir / "a", "new"));
  const struct stat after = status_of(dir / "a");
  EXPECT_EQ(after.st_uid, 1234U);
  EXPECT_EQ(after.st_gid, 2345U);
  EXPECT_EQ(after.st_mode & 07777, 0640U);
  if (!has_lists) GTEST_SKIP() << "no access lists on this file system";
  std::vector<char> kept(list.size() + 1);
  kept.resize(static_cast<std::size_t>(
      std::max<ssize_t>(0, getxattr((dir / "a").c_str(), "system.posix_acl_access", kept.data(), kept.size()))));
  EXPECT_EQ(kept, list);
}

TEST(TempFileTest, WhatIsAskedForOverrulesTheFileThatIsReplaced) {
  const TempDir dir;
  put(dir / "a", "old");
  ASSERT_EQ(chmod((dir / "a").c_str(), 0600), 0);
  auto file = TempFile::create(dir / "a", {.mode = 0644, .group = getegid()});
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(status_of(dir / "a").st_mode & 07777, 0644U);
  EXPECT_EQ(status_of(dir / "a").st_gid, getegid());
}

// In a child without privileges: a group that it is not in can't be kept, and that is said before a build begins.
TEST(TempFileTest, AGroupThatCannotBeKeptIsAnErrorAtOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "has to become somebody else";
  const TempDir dir;
  put(dir / "a", "old");
  ASSERT_EQ(chown((dir / "a").c_str(), 1234, 2345), 0);
  ASSERT_EQ(chmod((dir / "a").c_str(), 0640), 0);
  ASSERT_EQ(chmod(dir.path().c_str(), 0777), 0);
  const auto as_stranger = [&](const FileAccess& access) {
    const pid_t child = fork();
    if (child == 0) {
      const bool changed = setgroups(0, nullptr) == 0 && setgid(999) == 0 && setuid(999) == 0;
      const auto file = TempFile::create(dir / "a", access);
      const bool says = !file && file.error().what.find("--group") != std::string::npos;
      _exit(!changed ? 3 : file ? 0 : says ? 1 : 2);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(as_stranger({}), 1);
  EXPECT_EQ(as_stranger({.mode = 0644, .group = gid_t{999}}), 0);
}

TEST(TempFileTest, ARelativeNameIsBesideItself) {
  const TempDir dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  EXPECT_TRUE(write_and_commit("plain", "x"));
  fs::current_path(before);
  EXPECT_TRUE(fs::exists(dir / "plain"));
}

TEST(TempFileTest, ReplacesOnlyWhatWasReadBefore) {
  const TempDir dir;
  const fs::path target = dir / "a.bwf";
  const auto commit = [&](const FormerFile& former) {
    auto file = TempFile::create(target);
    EXPECT_TRUE(file);
    file->expect(former);
    const auto done = file->commit();
    return done ? std::string() : done.error().text();
  };
  const FormerFile nothing = FormerFile::of(target);
  EXPECT_EQ(commit(nothing), "");
  EXPECT_THAT(commit(nothing), testing::HasSubstr("was replaced or written to meanwhile by another command"));
  FormerFile seen = FormerFile::of(target);
  put(target, "written in place");
  EXPECT_THAT(commit(seen), testing::HasSubstr("run this one again"));
  seen = FormerFile::of(target);
  EXPECT_EQ(commit(seen), "");
  EXPECT_THAT(commit(seen), testing::HasSubstr("a.bwf: was replaced")) << "by another one of the same size";
  fs::remove(target);
  EXPECT_THAT(commit(seen), testing::HasSubstr("was replaced"));
  EXPECT_EQ(dir.entries(), 0U) << "nothing is left behind";
}

TEST(TempFileTest, FilesThatBelongTogetherAreReplacedTogetherOrNotAtAll) {
  const TempDir dir;
  const auto commit = [&](const FormerFile& former) {
    auto first = TempFile::create(dir / "a.bwx");
    auto second = TempFile::create(dir / "a.bwf");
    EXPECT_TRUE(first && second);
    second->expect(former);
    const std::array<TempFile*, 2> both{&*first, &*second};
    return TempFile::commit(both, {}).has_value();
  };
  EXPECT_TRUE(commit({}));
  EXPECT_TRUE(fs::exists(dir / "a.bwx") && fs::exists(dir / "a.bwf"));
  const auto before = stamp_of(dir / "a.bwx");
  EXPECT_FALSE(commit({}));
  EXPECT_EQ(stamp_of(dir / "a.bwx"), before) << "the first one stays where the second one may not go";
}

TEST(TempFileTest, SaysWhenTheFirstOneIsAboutToTakeItsPlaceAndWhenAllHave) {
  const TempDir dir;
  std::string told;
  const auto commit = [&](bool possible) {
    auto first = TempFile::create(dir / "a.bwx");
    auto second = TempFile::create(dir / "a.bwf");
    EXPECT_TRUE(first && second);
    if (!possible) fs::create_directory(dir / "a.bwf");  // which no file replaces
    const auto now = [&](const char* what) {
      told += std::string(what) + (fs::exists(dir / "a.bwx") ? "x" : "-") + (fs::exists(dir / "a.bwf") ? "f " : "- ");
    };
    const std::array<TempFile*, 2> both{&*first, &*second};
    return TempFile::commit(both, {.before = [&] { now("before"); }, .after = [&] { now("after"); }}).has_value();
  };
  EXPECT_FALSE(commit(false));
  EXPECT_EQ(told, "before-f ") << "and the first one alone is there now";
  fs::remove(dir / "a.bwx");
  fs::remove(dir / "a.bwf");
  told.clear();
  EXPECT_TRUE(commit(true));
  EXPECT_EQ(told, "before-- afterxf ");
}

// A file system without locks, as some of clusters are.
TEST(TempFileTest, WithoutLocksFilesTakeTheirPlacesAllTheSame) {
  const TempDir dir;
  const fs::path target = dir / "a.bwf";
  for (const int error : {ENOLCK, EOPNOTSUPP, ENOSYS}) {
    const auto commit = [&] {
      if (!bloomwall::test::refuse_calls(std::array{unsigned{SYS_flock}}, static_cast<unsigned>(error))) ::_exit(2);
      ::_exit(write_and_commit(target, "new") ? 0 : 1);
    };
    EXPECT_EXIT(commit(), testing::ExitedWithCode(0), "") << error;
    EXPECT_EQ(read_bytes(target).size(), 3U) << error;
    EXPECT_EQ(dir.entries(), 1U) << error;
    fs::remove(target);
  }
}

TEST(TempFileTest, WaitsForWhoHoldsTheLockOfTheFolder) {
  const TempDir dir;
  UniqueFd lock(open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  std::atomic<bool> released = false;
  std::jthread other([&] {
    std::this_thread::yield();
    released = true;
    lock.reset();
  });
  EXPECT_TRUE(write_and_commit(dir / "a.bwf", "new"));
  EXPECT_TRUE(released);
}

}  // namespace
}  // namespace bloomwall::filter
