// `bloomwall run`: what surrounds the data plane. One main loop (signals, control socket, admin address, watchdog), one
// reloader thread, and the Server's workers.
//
//   starting --first load--> serving --SIGTERM--> draining: announced --timeouts.announce--> listeners closed
//        --all ended, or timeouts.drain--> stopped
//       \-- the load fails: stopped, with its exit status      SIGINT or a second SIGTERM: stop now
//
// SIGHUP reloads and reopens logs, SIGUSR1 reopens logs. A reload that fails changes nothing and says why.
// What it is made of: Publisher decides what is served, Server serves it, Reloads loads it, Api and AdminServers let
// people ask and change it, Upgrade and Predecessor are the two ends of an upgrade.
// Call order: construct, run(). Thread: main's, all of it. Signals must have been blocked before (signals.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/handles.h"
#include "conf/config.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class AccessLog;     // proxy/log/access_log.h
class AdminServers;  // these seven: of this folder
class Predecessor;
class Publisher;
class Reloads;
class Signals;
class Upgrade;
class Watchdog;
class Api;  // these three: proxy/api
class ReportWebhook;
class TrafficService;
class Handover;  // these two: proxy/reload/reload_job.h
struct ReloadOutcome;
class Server;  // these two: proxy/worker
class Workers;
enum class Phase : std::uint8_t;  // proxy/api/served.h
struct AdminAnswers;              // proxy/api/admin_pages.h
struct Author;                    // proxy/state/audit.h
struct Edition;                   // proxy/decision/snapshot.h
struct HttpRoute;                 // proxy/api/http_routes.h
struct PassedSockets;             // proxy/io/service_manager.h
struct UpgradeCounts;             // proxy/api/metrics.h

class Daemon {
 public:
  // `settings` as loaded from `file` (empty: the default place); the daemon's log is open already. `passed`: sockets
  // that clients connect to already, or those of a process that this one takes over from (service_manager.h).
  Daemon(std::filesystem::path file, conf::Config settings, std::unique_ptr<AccessLog> access_log,
         PassedSockets passed);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Opens the listeners and serves until a signal ends it. Returns the exit status.
  int run();

 private:
  // The start, reloads, and what is said of them.
  tl::expected<void, std::string> open_state();
  [[noreturn]] void leave_reload_behind();
  void on_signal(int number);
  void serve(const Edition& edition, const std::shared_ptr<Handover>& handover);
  tl::expected<Workers*, ReloadOutcome> start_serving(const Edition& edition);
  void on_reloaded();
  void on_outcome(const ReloadOutcome& outcome);
  void on_progress(const std::string& progress);
  void reopen_logs(const conf::Log& settings);
  void on_sweep();
  const Edition& served() const;
  Phase phase() const;
  // The end.
  void on_terminate();
  void on_stop_signal(bool now);
  void announce();
  void drain(bool has_successor, const std::function<void()>& closed = {});
  void on_drain_tick();
  void tell_what_was_cut() const;
  // What people ask.
  std::vector<HttpRoute> routes(bool is_control);
  std::string status_text() const;
  AdminAnswers admin_answers() const;
  std::string metrics() const;
  // daemon_upgrade.cc: this process as the old one,
  std::unique_ptr<Upgrade> make_upgrade();
  void hold(bool is_held);
  void release_state(const Author& by, const std::string& subject,
                     const std::function<void(const std::string& fault)>& done);
  void note_failed_upgrade(const Author& by, const std::string& why);
  void hand_over_to(pid_t successor, std::function<void()> closed);
  void on_successor_lost(const std::string& why);
  // daemon_takeover.cc: and as the new one.
  void meet_predecessor();
  void wait_for_predecessor(const Edition& edition, const std::shared_ptr<Handover>& handover);
  void take_over(const UpgradeCounts& before, UniqueFd logins);
  ReloadOutcome open_what_was_held();

  struct Waiting;  // what the predecessor is waited for with

  const std::filesystem::path file_;
  const conf::Config started_with_;  // what needs a restart is compared with this
  std::unique_ptr<AccessLog> access_log_;
  EventLoop loop_;
  int exit_status_;
  std::unique_ptr<PassedSockets> passed_;   // until they are used
  conf::Log logs_;                          // as applied
  std::unique_ptr<ReportWebhook> webhook_;  // made before there are other threads
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<TrafficService> traffic_;  // outlives the server: workers tell it of requests
  std::unique_ptr<Api> api_;                 // from open_state() on; likewise: workers ask its tokens
  std::unique_ptr<Server> server_;           // from the first edition on
  std::unique_ptr<AdminServers> servers_;
  std::unique_ptr<Reloads> reloads_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<Signals> signals_;
  std::unique_ptr<Upgrade> upgrade_;
  std::unique_ptr<Predecessor> predecessor_;  // nullptr: there is none
  std::unique_ptr<Waiting> waiting_;          // nullptr: nothing waits
  bool was_told_to_end_ = false;              // while it drains for its successor
  Timer announced_, drain_tick_, sweep_tick_;
};

}  // namespace bloomwall::proxy
