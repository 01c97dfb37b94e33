// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/pem_files.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/support/temp_dir.h"

namespace bloomwall::proxy {
namespace {

TEST(CoreFiles, AreForbiddenToTheProcess) {
  // In a process of its own: there is no way back.
  EXPECT_EXIT(
      {
        forbid_core_files();
        rlimit limit{};
        ::getrlimit(RLIMIT_CORE, &limit);
        const bool is_closed = ::prctl(PR_GET_DUMPABLE) == 0 && limit.rlim_cur == 0 && limit.rlim_max == 0;
        std::_Exit(is_closed ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(FolderFault, TellsAFolderThatOthersMayChangeFromOneThatTheyMayList) {
  const test::TempDir dir;
  const auto key = dir.write("ca.key", "key");
  const auto fault = [&](mode_t mode) {
    ::chmod(dir.path().c_str(), mode);
    return folder_fault(key);
  };
  for (const mode_t closed : {0700U, 0750U, 0770U, 0711U}) EXPECT_FALSE(fault(closed)) << std::oct << closed;
  for (const mode_t listed : {0755U, 0705U, 01777U, 01755U}) {
    ASSERT_TRUE(fault(listed)) << std::oct << listed;
    EXPECT_FALSE(fault(listed)->is_open) << std::oct << listed;
  }
  for (const mode_t open : {0777U, 0703U, 0702U}) {
    ASSERT_TRUE(fault(open)) << std::oct << open;
    EXPECT_TRUE(fault(open)->is_open) << std::oct << open;
  }
  ::chmod(dir.path().c_str(), 0700);
  EXPECT_TRUE(folder_fault(dir.path() / "nowhere" / "ca.key")->is_open) << "who knows";
}

}  // namespace
}  // namespace bloomwall::proxy
