// Child processes of a test: the real programs, their output, their end; everything with a deadline.
// A child never outlives its Process, nor do its own children. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace bloomwall::test {

using Seconds = std::chrono::seconds;

// Runs in the child between fork and exec, so only what is safe in a signal handler; false: the child ends with 127.
using BeforeExec = std::function<bool()>;

class Process {
 public:
  // argv[0] is looked up in PATH. stdin is `input` (a file of it); stdout and stderr are read together, in order.
  explicit Process(const std::vector<std::string>& argv, const std::string& input = {},
                   const BeforeExec& before_exec = {});
  ~Process();  // SIGKILL to its process group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The first line from `from` on that contains `text`, or nothing within the bound. `from` counts lines.
  std::optional<std::string> wait_for_line(const std::string& text, Seconds bound = Seconds(20), std::size_t from = 0);
  std::size_t lines() const;
  // Exit status, or 128 + signal, with the output read to its end; nothing where it still runs after the bound.
  std::optional<int> wait(Seconds bound = Seconds(30));
  std::string output() const;

 private:
  void read_output(int fd);
  pid_t pid_ = -1;
  std::optional<int> status_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  std::string tail_;  // an unfinished line
  bool ended_ = false;
  std::thread reader_;
};

struct Finished {
  int status = -1;
  std::string out;  // stdout and stderr together
};
// Runs a program to its end. A program that does not end in time counts as status -1.
Finished run(const std::vector<std::string>& argv, const std::string& input = {}, Seconds bound = Seconds(60));

bool have_program(const std::string& name);

// A new folder below the system's temporary one, removed with everything in it at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::string path(const std::string& name = {}) const;
  std::string write(const std::string& name, const std::string& text) const;  // returns the path

 private:
  std::string root_;
};

}  // namespace bloomwall::test
