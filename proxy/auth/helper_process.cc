// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/child_process.h"

namespace bloomwall::proxy {
namespace {

constexpr rlim_t kMostHelperFiles = 256, kMostHelperFileSize = rlim_t{64} << 20, kMostHelperMemory = rlim_t{1} << 30;

struct Pipe {
  UniqueFd read, write;
};

bool make_pipe(Pipe& pipe) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  pipe.read.reset(ends[0]);
  pipe.write.reset(ends[1]);
  return true;
}

bool make_non_blocking(int fd) { return ::fcntl(fd, F_SETFL, O_NONBLOCK) == 0; }

bool limit(__rlimit_resource resource, rlim_t most) {
  const rlimit wanted{most, most};
  return ::setrlimit(resource, &wanted) == 0;
}

struct ChildPlan {
  char* const* arguments;
  char* const* environment;
  int in, out, err, failure;
};

// Between vfork and exec: shares the memory of the parent, whose thread stands still meanwhile. System calls alone.
[[noreturn]] void become_helper(const ChildPlan& plan) noexcept {
  const bool is_ready = begin_child() && ::dup2(plan.in, STDIN_FILENO) >= 0 && ::dup2(plan.out, STDOUT_FILENO) >= 0 &&
                        ::dup2(plan.err, STDERR_FILENO) >= 0 && ::chdir("/") == 0 &&
                        limit(RLIMIT_NOFILE, kMostHelperFiles) && limit(RLIMIT_CORE, 0) &&
                        limit(RLIMIT_FSIZE, kMostHelperFileSize) && limit(RLIMIT_AS, kMostHelperMemory);
  ::umask(077);
  exec_child(is_ready, plan.arguments, plan.environment, STDERR_FILENO + 1, plan.failure);
}

// fork() would copy the page tables of gigabytes of filters, and posix_spawn() sets no limits.
pid_t fork_helper(const ChildPlan& plan) {
  const pid_t pid = ::vfork();  // NOLINT(bugprone-unsafe-functions)
  if (pid == 0) become_helper(plan);
  return pid;
}

std::string text_of_error(int error) { return std::generic_category().message(error); }

}  // namespace

tl::expected<std::unique_ptr<HelperProcess>, std::string> HelperProcess::start(
    const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  static constexpr const char* kEnvironment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", nullptr};
  Pipe in, out, err, failure;
  if (!make_pipe(in) || !make_pipe(out) || !make_pipe(err) || !make_pipe(failure)) {
    return tl::unexpected(text_of_error(errno));
  }
  std::unique_ptr<HelperProcess> made(new HelperProcess);
  made->pid_ = fork_helper({.arguments = arguments.data(),
                            .environment = const_cast<char* const*>(kEnvironment),
                            .in = in.read.get(),
                            .out = out.write.get(),
                            .err = err.write.get(),
                            .failure = failure.write.get()});
  if (made->pid_ < 0) return tl::unexpected(text_of_error(errno));
  failure.write.reset();
  int error = 0;
  if (::read(failure.read.get(), &error, sizeof error) == sizeof error) return tl::unexpected(text_of_error(error));
  made->questions_ = std::move(in.write);
  made->answers_ = std::move(out.read);
  made->words_ = std::move(err.read);
  if (make_non_blocking(made->questions()) && make_non_blocking(made->answers()) && make_non_blocking(made->words())) {
    return made;
  }
  return tl::unexpected(text_of_error(errno));
}

HelperProcess::~HelperProcess() {
  if (pid_ <= 0) return;
  constexpr int kPatience = 1000;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // before it had its group
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0U)));
  if (process) {
    pollfd ended{process.get(), POLLIN, 0};
    while (::poll(&ended, 1, kPatience) < 0 && errno == EINTR) continue;
  }
  ::waitpid(pid_, nullptr, process ? WNOHANG : 0);
}

}  // namespace bloomwall::proxy
