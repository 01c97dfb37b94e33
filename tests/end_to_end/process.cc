// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace bloomwall::test {
namespace {

// A file descriptor whose content is `input`, positioned at its start.
int input_file(const std::string& input) {
  if (input.empty()) return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::array<char, 32> name{"/tmp/bloomwall-input-XXXXXX"};
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  ::unlink(name.data());
  for (std::size_t done = 0; done < input.size();) {
    const ssize_t n = ::write(fd, input.data() + done, input.size() - done);
    if (n <= 0) throw std::system_error(errno, std::generic_category(), "input of a child");
    done += static_cast<std::size_t>(n);
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

// Like spawn(), for who has something to do in the child.
pid_t fork_and_exec(char* const* args, int in, int out, const BeforeExec& before_exec) {
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid > 0) return pid;
  ::setpgid(0, 0);
  const bool ready = ::dup2(in, 0) == 0 && ::dup2(out, 1) == 1 && ::dup2(out, 2) == 2 && before_exec();
  if (ready) ::execvp(args[0], args);
  ::_exit(127);
}

pid_t spawn(const std::vector<std::string>& argv, int in, int out, const BeforeExec& before_exec) {
  std::vector<char*> args;
  for (const auto& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  if (before_exec) return fork_and_exec(args.data(), in, out, before_exec);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, out, 2);
  posix_spawnattr_t attributes;  // a process group of its own: a server's children end with it
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);
  return pid;
}

}  // namespace

Process::Process(const std::vector<std::string>& argv, const std::string& input, const BeforeExec& before_exec) {
  std::array<int, 2> out{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const int in = input_file(input);
  pid_ = spawn(argv, in, out[1], before_exec);
  ::close(in);
  ::close(out[1]);
  reader_ = std::thread([this, fd = out[0]] { read_output(fd); });
}

Process::~Process() {
  ::kill(-pid_, SIGKILL);
  wait();
  reader_.join();
}

void Process::read_output(int fd) {
  std::array<char, 65536> buffer{};
  for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;) {
    const std::lock_guard lock(mutex_);
    tail_.append(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = tail_.find('\n')) != std::string::npos;) {
      lines_.push_back(tail_.substr(0, end));
      tail_.erase(0, end + 1);
    }
    changed_.notify_all();
  }
  ::close(fd);
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Process::signal(int number) const { ::kill(pid_, number); }

std::optional<std::string> Process::wait_for_line(const std::string& text, Seconds bound, std::size_t from) {
  std::optional<std::string> found;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, bound, [&] {
    for (; from < lines_.size(); ++from) {
      if (lines_[from].find(text) != std::string::npos) {
        found = lines_[from];
        return true;
      }
    }
    return ended_;
  });
  return found;
}

std::size_t Process::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_.size();
}

std::optional<int> Process::wait(Seconds bound) {
  if (status_) return status_;
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd ready{pidfd, POLLIN, 0};
  const int events = ::poll(&ready, 1, static_cast<int>(bound.count() * 1000));
  ::close(pidfd);
  if (events != 1) return std::nullopt;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::unique_lock lock(mutex_);  // a child of its own may hold the pipe open
  changed_.wait_for(lock, Seconds(5), [this] { return ended_; });
  return status_;
}

std::string Process::output() const {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (const auto& line : lines_) all += line + "\n";
  return all + tail_;
}

Finished run(const std::vector<std::string>& argv, const std::string& input, Seconds bound) {
  Finished result;
  Process process(argv, input);
  const auto status = process.wait(bound);
  result.status = status.value_or(-1);
  if (!status) {
    process.signal(SIGKILL);
    process.wait(Seconds(5));
  }
  result.out = process.output();
  return result;
}

bool have_program(const std::string& name) { return run({"sh", "-c", "command -v " + name}).status == 0; }

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "bloomwall-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  root_ = name;
  std::filesystem::permissions(root_, std::filesystem::perms(0755));  // servers run as other users below it
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::string TempDir::path(const std::string& name) const { return name.empty() ? root_ : root_ + "/" + name; }

std::string TempDir::write(const std::string& name, const std::string& text) const {
  std::ofstream out(path(name), std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path(name));
  return path(name);
}

}  // namespace bloomwall::test
