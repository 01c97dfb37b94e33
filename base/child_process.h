// What a child does between vfork() and exec() to become another program. It shares the memory of its parent, whose
// thread stands still meanwhile, so that these make system calls alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bloomwall {

// Signals as a program expects them, a process group of its own, and an end with the thread that has made it. False,
// with errno: it cannot be had.
bool begin_child() noexcept;
// Runs command[0], where `is_ready`, with no signal blocked and no descriptor from `first_unused` on. Where it is not,
// or exec() fails, errno is written to `failure`, an int, and the child ends. Descriptors of ours are closed by exec(),
// of which `failure` is one; first_unused is for those of libraries.
[[noreturn]] void exec_child(bool is_ready, char* const* command, char* const* environment, int first_unused,
                             int failure) noexcept;

}  // namespace bloomwall
