// Reloads of the running process: when they are made, and what became of them. They are made on a thread of their own
// (ReloadJob), one after the other; while an upgrade holds them they wait.
// Reloads are asked for by people (SIGHUP, `bloomwall reload`), and here when a file that is served was changed. Every
// few seconds the configuration on the disk is compared with what is served.
// Call order: construct, start(), then the rest, stop(). Thread: the loop's. It must outlive what it posts to the loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/api/metrics.h"
#include "proxy/api/reload_api.h"
#include "proxy/api/served.h"
#include "proxy/io/event_loop.h"
#include "proxy/reload/file_watch.h"
#include "proxy/reload/reload_job.h"

namespace bloomwall::proxy {

class Reloads {
 public:
  // All are called on the loop.
  struct Process {
    std::function<void(const Edition& edition, const std::shared_ptr<Handover>& handover)> serve;
    std::function<void(const std::string& text)> on_progress;
    std::function<void(const ReloadOutcome& outcome)> on_outcome;  // it is logged and counted already
    std::function<bool()> may_reload;                              // false: ask_for_held() will be called
    bool may_fall_back = false;                                    // of ReloadJob
  };
  // `file`: as on the command line. `started_with`: what a key that needs a restart is compared with.
  Reloads(EventLoop& loop, const Served& served, const std::filesystem::path& file, conf::Config started_with,
          Process process);
  Reloads(const Reloads&) = delete;
  Reloads& operator=(const Reloads&) = delete;

  void start();  // with the first load, which serves
  // False: a load does not end within the bound; the process must end without its destructor (Reloader::stop()).
  bool stop(std::chrono::milliseconds bound);

  // `done` may come from any thread; it may be empty.
  void ask(Reloader::Done done);
  void ask_for_held();
  void answer_held(const std::string& line);  // another process reloads in place of this one
  bool is_under_way() const { return under_way_ > 0; }

  HttpRoute route() { return api_.route(); }  // of this object, which must outlive it
  void say(const std::string& text) { api_.say(text); }
  const ReloadCounts& counts() const { return counts_; }
  // Since when each filter has last good files; those without are not in it.
  const std::map<std::string, std::int64_t>& last_good() const { return last_good_; }
  const ConfigurationOnDisk& on_disk() const { return on_disk_; }

 private:
  void after_load(const ReloadOutcome& outcome);
  void on_file_tick();
  void on_disk_tick();
  void note_disk(const ConfigurationOnDisk& seen);

  EventLoop& loop_;
  const Served& served_;
  const std::shared_ptr<ReloadJob> job_;  // shared with the thread, which may be left behind
  const Process process_;
  ReloadApi api_;
  ReloadCounts counts_;
  std::map<std::string, std::int64_t> last_good_;
  std::vector<Reloader::Done> held_;
  std::size_t under_way_ = 0;
  FileWatch files_;
  bool is_looking_at_disk_ = false;
  ConfigurationOnDisk on_disk_;
  Timer file_tick_, disk_tick_;
  std::unique_ptr<Reloader> reloader_;  // last: its thread posts to the loop
};

}  // namespace bloomwall::proxy
