// One reload from beginning to end: settings, filters and snapshot are loaded and verified, the edition is handed to
// the main loop, which gives it to the workers, and once they have adopted it, its sequences are recorded for the
// rollback protection. A failed reload changes nothing.
// Thread: the reloader's, all of it. The state of that thread between reloads is in this class only; it calls the main
// loop by ReloadJob::Main and gets its answers through a Handover.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "conf/config.h"
#include "filter/policy/filter_store.h"
#include "proxy/decision/snapshot.h"
#include "proxy/io/service_manager.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/rollback_protection.h"

namespace bloomwall::proxy {

// Runs reloads one after the other on a thread of its own, so that no event loop waits for a file.
// Requests that arrive during a run share one more run, which begins after them and therefore sees the changes they
// were made for. A run that fails changes nothing; the next may succeed.
// Threads: request() from any. Done is called on the reloader's thread.
struct ReloadOutcome {
  int status = 0;                           // 0: what was asked for is served now; else an exit status
  std::vector<std::string> warnings;        // what went otherwise than the configuration says
  std::vector<std::string> lines;           // what came out; where it failed, why
  std::vector<RefusalReason> reasons = {};  // of what was refused: all of it, or files of a filter at a start
  std::vector<std::string> alarms = {};     // what is served although the configuration means something else
  std::map<std::string, std::int64_t> last_good = {};  // LastGood::Outcome::since
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
  // Does something else on the reloader's thread, between two runs.
  void errand(std::function<void()> todo);

 private:
  void run(const std::stop_token& stop);

  const Work work_;
  std::uint64_t generation_ = 0;  // the thread's own
  std::mutex mutex_;
  std::condition_variable_any wanted_;
  std::condition_variable over_;
  std::vector<Done> waiting_;                   // guarded by mutex_
  std::vector<std::function<void()>> errands_;  // likewise
  bool ended_ = false;                          // guarded by mutex_
  std::jthread thread_;                         // last: it uses all of the above
};

// The outcome of an edition that was handed to the main loop. Call served() and adopted() from any thread, once each.
class Handover {
 public:
  void served(ReloadOutcome outcome);  // the main loop has taken it, or says why not
  void adopted();                      // every worker has it
  // Returns when both have been called; or the outcome of served() with a warning, where workers take too long; or an
  // error when the process stops.
  ReloadOutcome wait(const std::stop_token& stop);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<ReloadOutcome> outcome_;  // these two are guarded by mutex_
  bool is_adopted_ = false;
};

// The configuration on the disk beside the one that is served.
struct ConfigurationOnDisk {
  bool differs = false;  // it, or a users file, says something else than what was loaded last
  std::string refused;   // why a reload, and the next start, would fail; empty: they would not because of it
  friend bool operator==(const ConfigurationOnDisk&, const ConfigurationOnDisk&) = default;
};

class ReloadJob {
 public:
  // Called on the reloader's thread: both post to the main loop.
  struct Main {
    std::function<void(const Edition& edition, std::shared_ptr<Handover> handover)> serve;
    std::function<void(const std::string& progress)> say;
  };

  // `settings`: those the process has started with: the first load uses them, and later ones are compared with them for
  // keys that need a restart.
  // `may_fall_back`: the first load may serve last good files (last_good.h), since nothing else would be served.
  ReloadJob(std::filesystem::path file, conf::Config settings, Main main, bool may_fall_back = false);

  // `generation`: 1 for the first load, which starts the server.
  ReloadOutcome run(std::uint64_t generation, const std::stop_token& stop);
  // Of files that have not changed since the last call by their times, what that one said. Filters and lists are not
  // looked at. On the thread of run().
  ConfigurationOnDisk look_at_disk();

 private:
  struct FileState {
    std::filesystem::path file;
    std::int64_t seconds = 0, nanoseconds = 0, bytes = 0;
    std::uint64_t inode = 0;
    bool is_pipe = false;  // neither file nor folder: opening it could wait for ever, and what is read is gone
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  std::vector<FileState> states_of_files() const;
  ConfigurationOnDisk read_disk() const;

  Loaded<Edition> load(std::uint64_t generation, const std::stop_token& stop, std::vector<std::string>& warnings);
  Loaded<void> read_sequences(const conf::Config& settings, std::vector<std::string>& warnings);
  void fit_descriptors(conf::Config& settings, std::vector<std::string>& warnings);
  void remember(const Edition& served, ReloadOutcome& outcome);
  void tell_progress(const std::filesystem::path& file, std::uint64_t done, std::uint64_t total);

  const std::filesystem::path file_;
  const conf::Config started_with_;
  const Main main_;
  const bool may_fall_back_;
  ServiceManager manager_;
  filter::FilterStore store_;
  Edition served_;                    // null before the first
  conf::Config loading_, loaded_;     // as the files said; of the last run, and of the last that went well
  std::vector<FileState> looked_at_;  // these two: look_at_disk()
  ConfigurationOnDisk on_disk_;
  RollbackProtection sequences_;
  bool sequences_kept_ = false;   // the state folder has them
  std::string descriptors_told_;  // so that the same warning is not repeated by each reload
  Milliseconds last_progress_{0};
};

}  // namespace bloomwall::proxy
