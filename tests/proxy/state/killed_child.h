// A child process that is killed at any moment while it changes what is on the disk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>

namespace bloomwall::proxy {

// `work` runs in the child, without end: it says each number once that is confirmed. The child is killed when it has
// said `wanted` of them. Returns the last that it said; 0: it ended before.
inline std::uint64_t last_said_before_kill(std::size_t wanted,
                                           const std::function<void(const std::function<void(std::uint64_t)>&)>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    work([&](std::uint64_t said) {
      if (::write(ends[1], &said, sizeof said) < 0) ::_exit(1);
    });
    ::_exit(1);
  }
  ::close(ends[1]);
  std::uint64_t last = 0, said = 0;
  const auto hears = [&] { return ::read(ends[0], &said, sizeof said) == static_cast<ssize_t>(sizeof said); };
  for (std::size_t i = 0; i < wanted; ++i) {
    if (!hears()) {
      ADD_FAILURE() << "the child has ended by itself";
      break;
    }
    last = said;
  }
  ::kill(child, SIGKILL);
  while (hears()) last = said;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return last;
}

}  // namespace bloomwall::proxy
