// A kernel that runs out when the test says so. The program under test runs below a seccomp filter that hands the calls
// in kWatched to this process, where a thread lets each go on or answers it with an error number instead: the program
// meets ENFILE or ENOMEM as the kernel would say it, and the machine lacks nothing.
// Cost: two switches of process for each of these calls; all others are as fast as ever.
// Call order: construct, Process with before_exec(), begin(), end(). It must outlive the Process, whose calls it
// answers. Any thread. Source: seccomp_unotify(2).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

#include "tests/end_to_end/process.h"

struct seccomp_notif;

namespace bloomwall::test {

class KernelFaults {
 public:
  static constexpr std::array<unsigned, 7> kWatched{SYS_accept4, SYS_socket, SYS_connect, SYS_epoll_ctl,
                                                    SYS_pipe2,   SYS_openat, SYS_clone3};
  static constexpr std::size_t kAlways = std::numeric_limits<std::size_t>::max();

  // Whether this machine lets a process filter its child's calls; containers may not.
  static bool available();

  KernelFaults();
  ~KernelFaults();
  KernelFaults(const KernelFaults&) = delete;
  KernelFaults& operator=(const KernelFaults&) = delete;

  BeforeExec before_exec();  // for one Process

  // From now on this call fails, so many times, after so many that go well. Of epoll_ctl only EPOLL_CTL_ADD counts, the
  // one that needs memory.
  void begin(unsigned call, int error, std::size_t times = kAlways, std::size_t after = 0);
  // From now on no file whose path ends so can be opened.
  void begin_for_files(const std::string& ending, int error);
  void end();
  std::size_t failed() const;  // calls that did since begin()
  bool wait_for_failed(std::size_t calls, std::chrono::milliseconds bound = std::chrono::seconds(8));

 private:
  void supervise();
  int decide(const seccomp_notif& call);  // 0: let it go on

  std::array<int, 2> handover_{-1, -1};  // by which the child hands over the descriptor of its notifications
  int stop_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  unsigned call_ = 0;      // these six are guarded by mutex_
  int error_ = 0;          // 0: no fault
  std::size_t times_ = 0;  // still to come
  std::size_t after_ = 0;  // still to go well before
  std::size_t failed_ = 0;
  std::string ending_;  // of paths; empty: all
  std::thread supervisor_;
};

}  // namespace bloomwall::test
