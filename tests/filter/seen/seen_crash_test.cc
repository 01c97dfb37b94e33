// A process that is killed while it writes a checkpoint, before and after each of its system calls: what is there then
// is the checkpoint before or the new one, whole.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "tests/filter/seen/seen_maker.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kBefore = 1000;
constexpr std::uint64_t kAfter = 2000;

// In the child: says that it may be traced, waits to be, loads the checkpoint, adds to it and writes the next one.
[[noreturn]] void write_checkpoint(const std::filesystem::path& file) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(9);
  FormerFile former = FormerFile::of(file);
  auto seen = SeenSet::load(file);
  if (!seen) _exit(8);
  for (std::uint64_t i = kBefore; i < kAfter; ++i) add(*seen, key_number(i));
  raise(SIGSTOP);
  _exit(seen->save(file, former, "a test").has_value() ? 0 : 7);
}

// Lets the child make so many stops at its calls (one before, one after each), then kills it. Whether it has ended by
// itself before.
bool ends_before(pid_t child, int stops) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSTOPPED(status)) << "status " << status;
  for (int stop = 0; stop < stops; ++stop) {
    EXPECT_EQ(ptrace(PTRACE_SYSCALL, child, nullptr, nullptr), 0);
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (!WIFSTOPPED(status)) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
      return true;
    }
  }
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return false;
}

bool can_trace() {
  const pid_t child = fork();
  if (child == 0) _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SeenCrash, LeavesTheCheckpointBeforeOrTheNewOne) {
  if (!can_trace()) GTEST_SKIP() << "this machine lets nobody trace a process";
  const test::TempDir dir;
  const auto file = dir.path() / "visited.bwf";
  const auto write_first = [&] {
    FormerFile former = FormerFile::of(file);
    SeenSet seen = make_set(10'000, 1e-9);
    for (std::uint64_t i = 0; i < kBefore; ++i) add(seen, key_number(i));
    ASSERT_TRUE(seen.save(file, former, "a test").has_value());
  };
  write_first();
  int old_ones = 0;
  int new_ones = 0;
  bool is_over = false;
  for (int stops = 0; !is_over; ++stops) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_checkpoint(file);
    is_over = ends_before(child, stops);
    const auto loaded = SeenSet::load(file);
    ASSERT_TRUE(loaded.has_value()) << "after " << stops << " stops: " << loaded.error().text();
    for (std::uint64_t i = 0; i < kBefore; ++i) ASSERT_TRUE(holds(*loaded, key_number(i))) << "after " << stops;
    const bool is_new = loaded->before().keys == kAfter;
    ASSERT_TRUE(is_new || loaded->before().keys == kBefore) << loaded->before().keys;
    for (std::uint64_t i = kBefore; i < kAfter; ++i) ASSERT_EQ(holds(*loaded, key_number(i)), is_new) << i;
    (is_new ? new_ones : old_ones) += 1;
    if (is_new) write_first();
  }
  EXPECT_GT(old_ones, 10);  // create, allocate, map, write, sync, lock ...
  EXPECT_GT(new_ones, 1) << "killed between the rename and the end";
  // Leftovers of killed writers are removed by the next one.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) files += entry.path() != file ? 1U : 0U;
  EXPECT_LE(files, 1U);
}

}  // namespace
}  // namespace bloomwall::filter
