// Sockets at paths: who may connect to them.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/unix_socket.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

struct stat status_of(const std::filesystem::path& path) {
  struct stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status;
}

class SocketsAtPaths : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path() / "door"; }
  // Another group than its own that this process may give a file to.
  static std::string other_group() {
    if (::geteuid() == 0) return "daemon";
    std::vector<gid_t> groups(1024);
    groups.resize(static_cast<std::size_t>(std::max(0, ::getgroups(1024, groups.data()))));
    for (const gid_t each : groups) {
      const group* const found = each == ::getegid() ? nullptr : ::getgrgid(each);
      if (found != nullptr) return found->gr_name;
    }
    return {};
  }
  test::TempDir folder_;
};

TEST_F(SocketsAtPaths, AreForTheirUserAndGroup) {
  const auto made = listen_at(path(), 8);
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(status_of(path()).st_mode & 0777U, 0660U);
  EXPECT_EQ(status_of(path()).st_gid, ::getegid());
  EXPECT_TRUE(connect_to(path()));
}

TEST_F(SocketsAtPaths, AreGivenToTheGroupThatIsNamed) {
  const std::string group = other_group();
  if (group.empty()) GTEST_SKIP() << "neither root nor a member of a second group";
  const auto made = listen_at(path(), 8, group);
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(status_of(path()).st_gid, group_id(group).value());
  EXPECT_EQ(status_of(path()).st_mode & 0777U, 0660U);
  ASSERT_TRUE(give_to_group(path(), std::nullopt));
  EXPECT_EQ(status_of(path()).st_gid, ::getegid()) << "as a new file there would";
}

TEST_F(SocketsAtPaths, OfAFolderThatGivesItsGroupKeepThat) {
  const std::string group = other_group();
  if (group.empty()) GTEST_SKIP() << "neither root nor a member of a second group";
  ASSERT_EQ(::chown(folder_.path().c_str(), static_cast<uid_t>(-1), group_id(group).value()), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 02770), 0);
  const auto made = listen_at(path(), 8);
  ASSERT_TRUE(made) << made.error();
  ASSERT_TRUE(give_to_group(path(), std::nullopt));
  EXPECT_EQ(status_of(path()).st_gid, group_id(group).value());
}

TEST_F(SocketsAtPaths, AreNotMadeForAGroupThatDoesNotExist) {
  const auto made = listen_at(path(), 8, "no-such-group");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error(), "this system has no group no-such-group");
  EXPECT_FALSE(std::filesystem::exists(path())) << "nobody may find it half made";
}

}  // namespace
}  // namespace bloomwall::proxy
