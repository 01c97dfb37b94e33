// SPDX-License-Identifier: Apache-2.0
#include "proxy/cli/owner.h"

#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

bool become(const Owner& owner) {
  const struct passwd* const user = ::getpwuid(owner.user);
  const bool has_groups =
      user != nullptr ? ::initgroups(user->pw_name, owner.group) == 0 : ::setgroups(1, &owner.group) == 0;
  return has_groups && ::setgid(owner.group) == 0 && ::setuid(owner.user) == 0 && ::setuid(0) != 0;
}

}  // namespace

std::optional<Owner> other_owner(const std::filesystem::path& folder) {
  if (::geteuid() != 0) return std::nullopt;
  struct stat status{};
  std::filesystem::path at = folder;
  while (::stat(at.c_str(), &status) != 0) {
    if (!at.has_relative_path()) return std::nullopt;
    at = at.parent_path();
  }
  if (status.st_uid == 0) return std::nullopt;
  return Owner{status.st_uid, status.st_gid};
}

int run_as(const Owner& owner, const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child < 0) return kExitError;
  if (child == 0) ::_exit(become(owner) ? work() : kExitError);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kExitError;
    ::kill(child, SIGTERM);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitError;
}

}  // namespace bloomwall::proxy
