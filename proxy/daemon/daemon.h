// `bloomwall run`: what surrounds the data plane. One main loop (signals, control socket, admin address, watchdog), one
// reloader thread, and the Server's workers.
//
//   starting --first load--> serving --SIGTERM--> draining: announced --timeouts.announce--> listeners closed
//        --all ended, or timeouts.drain--> stopped
//       \-- the load fails: stopped, with its exit status      SIGINT or a second SIGTERM: stop now
//
// SIGHUP reloads and reopens logs, SIGUSR1 reopens logs. A reload that fails changes nothing and says why.
// Call order: construct, run(). Thread: main's, all of it; what the reloader's thread does and keeps is ReloadJob's
// (reload_job.h), and comes back as posts to the loop. Signals must have been blocked before (signals.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "proxy/api/admin_logins.h"
#include "proxy/api/api_access.h"
#include "proxy/api/config_api.h"
#include "proxy/api/exceptions_api.h"
#include "proxy/api/explain_api.h"
#include "proxy/api/groups_api.h"
#include "proxy/api/http_server.h"
#include "proxy/api/lists_api.h"
#include "proxy/api/metrics.h"
#include "proxy/api/reload_api.h"
#include "proxy/api/report_desk.h"
#include "proxy/api/report_webhook.h"
#include "proxy/api/reports_api.h"
#include "proxy/api/state_api.h"
#include "proxy/api/state_service.h"
#include "proxy/api/status_api.h"
#include "proxy/api/tls_api.h"
#include "proxy/api/traffic_service.h"
#include "proxy/api/why_api.h"
#include "proxy/daemon/memory_peak.h"
#include "proxy/daemon/predecessor.h"
#include "proxy/daemon/publisher.h"
#include "proxy/daemon/signals.h"
#include "proxy/daemon/upgrade.h"
#include "proxy/io/service_manager.h"
#include "proxy/io/transport.h"
#include "proxy/log/access_log.h"
#include "proxy/reload/file_watch.h"
#include "proxy/reload/reload_job.h"
#include "proxy/reload/running_socket.h"
#include "proxy/worker/server.h"

namespace bloomwall::proxy {

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
  tl::expected<void, std::string> open_admin();
  tl::expected<void, std::string> open_state();
  void open_apis();  // of open_state()
  void log_change(const AuditRow& row);
  void open_reports(const StateResult<StateStore::Secret>& secret);
  void find_own_error(const ReportItem& accepted);
  tl::expected<void, std::string> open_control();
  std::vector<HttpRoute> api_routes();
  void on_control_retry();
  [[noreturn]] void leave_reload_behind();
  void on_signal(int number);
  void on_terminate();
  void on_stop_signal(bool now);

  // daemon_upgrade.cc: this process as the old one,
  static std::vector<std::string> command_to_run(const std::filesystem::path& file);
  Upgrade::Daemon upgrade_hooks();
  tl::expected<std::vector<Successor::Passed>, std::string> sockets_for_successor() const;
  void hold(bool is_held);
  using StateReleased = std::function<void(const std::string& fault)>;
  void release_state(const Author& by, const std::string& subject, const StateReleased& done);
  void note_failed_upgrade(const Author& by, const std::string& why);
  void ask_for_held_reloads();
  void hand_over_to(pid_t successor);
  void on_successor_lost(const std::string& why);
  // daemon_takeover.cc: and as the new one.
  void meet_predecessor();
  void wait_for_predecessor(const Edition& edition, const std::shared_ptr<Handover>& handover);
  void take_over(const UpgradeCounts& before, UniqueFd logins);
  ReloadOutcome open_what_was_held();
  void close_what_was_held();
  void keep_control_socket();
  UniqueFd take_passed_control();
  std::optional<ListeningSocket> take_passed_admin(const std::string& address);
  void tell_predecessor(const ReloadOutcome& outcome) const;
  void on_progress(const std::string& progress);

  void start_reloader();
  void ask_for_reload(Reloader::Done done);
  void serve(const Edition& edition, const std::shared_ptr<Handover>& handover);
  tl::expected<Workers*, ReloadOutcome> start_serving(const Edition& edition);
  void on_reloaded();
  const Edition& served() const { return publisher_.edition(); }
  Phase phase() const { return publisher_.phase(); }
  void after_load(const ReloadOutcome& outcome);
  void reopen_logs(const conf::Log& settings);
  void announce();
  void drain();
  void on_drain_tick();
  void tell_what_was_cut() const;
  void on_watchdog();
  void give_memory_back();
  void on_file_watch();
  void on_disk_tick();
  void note_disk(const ConfigurationOnDisk& seen);
  void on_sweep();
  void renew_admin_certificate();
  std::string status_text() const;
  std::vector<HttpRoute> admin_pages() const;
  AdminAnswers admin_answers() const;
  AdminCounts admin_counts() const;
  std::string metrics() const;

  const std::filesystem::path file_;
  const conf::Config started_with_;  // what needs a restart is compared with this
  std::unique_ptr<AccessLog> access_log_;
  ServiceManager manager_;
  EventLoop loop_;
  BufferPool pool_;
  std::vector<char> scratch_;
  IoContext io_;
  int exit_status_ = kExitDone;
  PassedSockets passed_;  // until they are used
  Publisher publisher_;
  std::unique_ptr<StateService> state_;  // outlives the server, whose logins ask its tokens
  ReportCounts report_counts_;
  ReportWebhook webhook_;
  std::unique_ptr<ReportDesk> report_desk_;  // nullptr: reports are not taken; likewise
  std::unique_ptr<TrafficService> traffic_;  // likewise: workers tell it of requests
  std::unique_ptr<Server> server_;
  ReloadCounts reloads_;
  conf::Log logs_;  // as applied
  bool stalled_ = false;
  std::string admin_certificate_failure_;  // why it could not be renewed; empty: it could
  MemoryPeak memory_;                      // of connections, beside the pools
  Milliseconds control_wait_{100};         // until the control socket is tried again
  Timer control_retry_, announced_, drain_tick_, watchdog_, file_tick_, sweep_tick_, disk_tick_;
  FileWatch files_;
  std::function<void()> look_at_disk_;  // asks the reloader's thread for note_disk()
  bool is_looking_at_disk_ = false;
  ConfigurationOnDisk on_disk_;
  std::unique_ptr<Signals> signals_;
  ReloadApi reload_api_;
  TlsApi tls_api_;
  // From open_state() on.
  std::unique_ptr<ExceptionsApi> exceptions_;
  std::unique_ptr<StateApi> state_api_;
  std::unique_ptr<GroupsApi> groups_api_;
  std::unique_ptr<ReportsApi> reports_api_;
  std::unique_ptr<WhyApi> why_api_;
  std::unique_ptr<ExplainApi> explain_api_;
  std::unique_ptr<StatusApi> status_api_;
  std::unique_ptr<ConfigApi> config_api_;
  std::unique_ptr<ListsApi> lists_api_;
  std::unique_ptr<AdminLogins> logins_;
  std::unique_ptr<ApiAccess> access_;
  Upgrade upgrade_;
  std::vector<Reloader::Done> held_reloads_;  // asked for while an upgrade holds them
  std::size_t reloads_under_way_ = 0;
  bool has_successor_ = false, was_told_to_end_ = false;
  bool was_state_usable_ = false;             // when it was opened
  std::unique_ptr<Predecessor> predecessor_;  // nullptr: there is none
  Edition waiting_edition_;                   // these two: loaded, until the predecessor says go
  std::shared_ptr<Handover> waiting_handover_;
  UniqueFd logins_before_;                         // of the predecessor, until the server has them
  std::unique_ptr<RunningSocket> running_socket_;  // of control_
  std::unique_ptr<HttpServer> control_, admin_;    // on the unix socket; on the admin address
  std::unique_ptr<Reloader> reloader_;             // last: its thread posts to the loop
};

}  // namespace bloomwall::proxy
