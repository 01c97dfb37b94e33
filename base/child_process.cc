// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace bloomwall {

bool begin_child() noexcept {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  return ::setpgid(0, 0) == 0 && ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

void exec_child(bool is_ready, char* const* command, char* const* environment, int first_unused, int failure) noexcept {
  if (is_ready) {
    ::syscall(SYS_close_range, static_cast<unsigned>(first_unused), ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(command[0], command, environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

}  // namespace bloomwall
