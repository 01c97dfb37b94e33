// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/database.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

// As another process sees it: SQLite's readers lock these octets of the file.
bool is_locked(const std::filesystem::path& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_start = 0x40000002;
    lock.l_len = 510;
    const int fd = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    ::_exit(fd >= 0 && ::fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

class DatabaseFile : public testing::Test {
 protected:
  test::TempDir folder_;
  const std::filesystem::path file_ = folder_.path() / "a.db";
};

TEST_F(DatabaseFile, OpenedTwiceKeepsTheLocksOfTheFirst) {
  auto first = Database::open(file_);
  ASSERT_TRUE(first.has_value()) << first.error();
  ASSERT_TRUE(first->run("CREATE TABLE t(a)").has_value()) << first->error();
  ASSERT_TRUE(is_locked(file_));
  const auto second = Database::open(file_);
  ASSERT_TRUE(second.has_value()) << second.error();
  EXPECT_TRUE(is_locked(file_));
}

TEST_F(DatabaseFile, IsItsOwnersAlone) {
  const mode_t former = ::umask(0);
  const auto made = Database::open(file_);
  ::umask(former);
  ASSERT_TRUE(made.has_value()) << made.error();
  EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms{0600});
}

TEST_F(DatabaseFile, IsNotReachedThroughALink) {
  std::filesystem::create_symlink(folder_.path() / "elsewhere", file_);
  EXPECT_EQ(Database::open(file_).error(), file_.string() + ": is not a file");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "elsewhere"));
}

}  // namespace
}  // namespace bloomwall::proxy
