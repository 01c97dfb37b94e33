// A helper as a process of its own: its stdin, stdout and stderr as pipes whose near ends do not block. It gets nothing
// else of this process: no descriptors, a fresh environment, default signals, its own process group, limits on memory,
// files and core dumps; it dies with the thread that started it.
// start(): a few milliseconds (fork without copying, and exec). The destructor kills the whole group and waits until it
// is gone, at most a second. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/handles.h"

namespace bloomwall::proxy {

class HelperProcess {
 public:
  // The error says what has failed: "No such file or directory".
  static tl::expected<std::unique_ptr<HelperProcess>, std::string> start(const std::vector<std::string>& command);
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  pid_t pid() const { return pid_; }
  int questions() const { return questions_.get(); }  // to write
  int answers() const { return answers_.get(); }      // to read
  int words() const { return words_.get(); }          // stderr, to read

 private:
  HelperProcess() = default;
  UniqueFd questions_, answers_, words_;
  pid_t pid_ = -1;
};

}  // namespace bloomwall::proxy
