// Runs reloads one after the other on a thread of its own, so that no event loop waits for a file.
// Requests that arrive during a run share one more run, which begins after them and therefore sees the changes they
// were made for. A run that fails changes nothing; the next may succeed.
// Threads: request() from any. Done is called on the reloader's thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace bloomwall::proxy {

struct ReloadOutcome {
  int status = 0;                     // 0: what was asked for is served now; else an exit status
  std::vector<std::string> warnings;  // what went otherwise than the configuration says
  std::vector<std::string> lines;     // what came out; where it failed, why
  bool ok() const { return status == 0; }
};

class Reloader {
 public:
  // One whole run: load, verify, publish, wait until it is served. `generation` is what it must publish: one more than
  // the last that went well. It must give up soon after a stop was requested.
  using Work = std::function<ReloadOutcome(std::uint64_t generation, const std::stop_token& stop)>;
  using Done = std::function<void(const ReloadOutcome&)>;

  explicit Reloader(Work work);
  ~Reloader() = default;  // asks a run to give up and waits for it; requests left over end with status 2
  Reloader(const Reloader&) = delete;
  Reloader& operator=(const Reloader&) = delete;

  // Asks a run to stop. False if it has not stopped within the bound: it is blocked in a system call, for instance in
  // open() of a file on a dead mount. The destructor would wait for it, too, so the process must end without it.
  bool stop(std::chrono::milliseconds bound);

  void request(Done done);  // may be empty

 private:
  void run(const std::stop_token& stop);

  const Work work_;
  std::uint64_t generation_ = 0;  // the thread's own
  std::mutex mutex_;
  std::condition_variable_any wanted_;
  std::condition_variable over_;
  std::vector<Done> waiting_;  // guarded by mutex_
  bool ended_ = false;         // guarded by mutex_
  std::jthread thread_;        // last: it uses all of the above
};

}  // namespace bloomwall::proxy
