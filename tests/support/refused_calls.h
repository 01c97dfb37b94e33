// System calls that fail from here on, in this process and its children: a system that has run out of something, or a
// file system that lacks it, as the kernel would say so. There is no way back, so it is done in a child: EXPECT_EXIT.
// Source: seccomp(2).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace bloomwall::test {

// What begins a thread.
inline constexpr std::array<unsigned, 2> kThreadCalls{SYS_clone3, SYS_clone};

// `calls`: numbers of system calls, which fail with `error`. False: this machine lets nobody filter calls.
template <std::size_t kCalls>
bool refuse_calls(const std::array<unsigned, kCalls>& calls, unsigned error) {
  std::array<sock_filter, kCalls + 3> program{};
  program[0] = {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)};
  for (std::size_t i = 0; i < kCalls; ++i) {
    const auto to_last = static_cast<unsigned char>(kCalls - i);
    program[1 + i] = {BPF_JMP | BPF_JEQ | BPF_K, to_last, 0, calls[i]};
  }
  program[kCalls + 1] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  program[kCalls + 2] = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error};
  const sock_fprog filter{static_cast<unsigned short>(kCalls + 3), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace bloomwall::test
