// SPDX-License-Identifier: Apache-2.0
#include "filter/parallel.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace bloomwall::filter {
namespace {

TEST(ForEachIndex, CallsEachOnceWhateverTheNumberOfThreads) {
  for (const unsigned threads : {0U, 1U, 2U, 7U, 100U}) {
    for (const std::size_t count : {0U, 1U, 5U, 1000U}) {
      std::vector<std::atomic<int>> calls(count);
      for_each_index(count, threads, [&](std::size_t i) { calls[i].fetch_add(1); });
      for (const auto& n : calls) EXPECT_EQ(n.load(), 1) << threads << " threads, " << count;
    }
  }
}

// From here on this process gets no more threads.
bool refuse_threads() {
  std::array<sock_filter, 5> program{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_clone3},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_clone},
                                      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
                                      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EAGAIN}}};
  const sock_fprog filter{program.size(), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(ForEachIndex, TheCallingThreadDoesItAloneWhereThereIsNoOther) {
  const auto work_without_threads = [] {
    if (!refuse_threads()) ::_exit(2);
    std::vector<std::atomic<int>> calls(1000);
    for_each_index(calls.size(), 7, [&](std::size_t i) { calls[i].fetch_add(1); });
    ::_exit(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n.load() == 1; }) ? 0 : 1);
  };
  EXPECT_EXIT(work_without_threads(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace bloomwall::filter
