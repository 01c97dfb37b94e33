// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/daemon.h"

#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <optional>
#include <utility>

#include "base/units.h"
#include "proxy/api/build_review.h"
#include "proxy/api/dashboard.h"
#include "proxy/check/port_holders.h"
#include "proxy/check/settings_check.h"
#include "proxy/io/interfaces.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{64} << 20;  // of admin and control connections together
constexpr std::size_t kScratchBytes = std::size_t{64} << 10;
constexpr Milliseconds kWatchTick{1000};
constexpr Milliseconds kStall{5000};  // a loop that has not turned for so long is reported
constexpr Milliseconds kFlushBound{5000};
constexpr Milliseconds kDiskPeriod{5000};   // between two looks at the configuration's files
constexpr Milliseconds kReloadBound{2000};  // for a reload to give up
constexpr Milliseconds kLongestControlWait{5000};
constexpr HttpServer::Bounds kAdminBounds{.connections = 64, .patience = Milliseconds(10'000)};
constexpr HttpServer::Bounds kControlBounds{.connections = 32, .patience = Milliseconds(5000)};

}  // namespace

Daemon::Daemon(std::filesystem::path file, conf::Config settings, std::unique_ptr<AccessLog> access_log,
               PassedSockets passed)
    : file_(std::move(file)),
      started_with_(std::move(settings)),
      access_log_(std::move(access_log)),
      pool_(kPoolBytes),
      scratch_(kScratchBytes),
      io_{loop_, pool_, scratch_},
      passed_(std::move(passed)),
      publisher_(loop_, {.start = [this](const Edition& first) { return start_serving(first); },
                         .on_reloaded = [this] { on_reloaded(); }}),
      logs_(started_with_.log),
      control_retry_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_control_retry(); }, this),
      announced_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->drain(); }, this),
      drain_tick_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_drain_tick(); }, this),
      watchdog_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_watchdog(); }, this),
      file_tick_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_file_watch(); }, this),
      sweep_tick_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_sweep(); }, this),
      disk_tick_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_disk_tick(); }, this),
      reload_api_(loop_, configuration_file(file_), [this](Reloader::Done done) { ask_for_reload(std::move(done)); }),
      tls_api_(loop_, publisher_),
      upgrade_(loop_, configuration_file(file_), command_to_run(file_), upgrade_hooks()) {}

Daemon::~Daemon() = default;

int Daemon::run() {
  traffic_ = std::make_unique<TrafficService>(loop_, publisher_);
  if (passed_.is_upgrade()) {
    meet_predecessor();
  } else if (const auto opened = open_state(); !opened) {  // what was denied would pass
    log::error("{}", opened.error());
    return kExitConfiguration;
  }
  signals_ = std::make_unique<Signals>(loop_, [this](int number) { on_signal(number); });
  if (predecessor_ == nullptr) {
    if (const auto opened = open_admin(); !opened) {
      log::error("{}", opened.error());
      return kExitError;
    }
  }
  watchdog_.set(kWatchTick);
  file_tick_.set(kFileWatchPeriod);
  on_sweep();  // begins its ticks
  start_reloader();
  reloader_->request({});
  loop_.run();

  if (!reloader_->stop(kReloadBound)) leave_reload_behind();
  reloader_.reset();
  running_socket_.reset();
  control_.reset();
  admin_.reset();
  why_api_.reset();
  explain_api_.reset();
  state_.reset();  // what was asked of it is done
  server_.reset();
  traffic_.reset();
  access_log_->close(kFlushBound);
  log::info("stopped");
  return exit_status_;
}

// The reloader's thread uses only the job; its results are posted to the main loop.
void Daemon::start_reloader() {
  const auto job = std::make_shared<ReloadJob>(
      file_, started_with_,
      ReloadJob::Main{
          .serve =
              [this](const Edition& edition, std::shared_ptr<Handover> handover) {
                loop_.post([this, edition, handover = std::move(handover)] { serve(edition, handover); });
              },
          .say = [this](const std::string& progress) { loop_.post([this, progress] { on_progress(progress); }); }});
  reloader_ = std::make_unique<Reloader>([this, job](std::uint64_t generation, const std::stop_token& stop) {
    const ReloadOutcome outcome = job->run(generation, stop);
    loop_.post([this, outcome] { after_load(outcome); });
    return outcome;
  });
  look_at_disk_ = [this, job] {
    reloader_->errand([this, job] { loop_.post([this, seen = job->look_at_disk()] { note_disk(seen); }); });
  };
}

void Daemon::on_disk_tick() {
  disk_tick_.set(kDiskPeriod);
  if (!std::exchange(is_looking_at_disk_, true)) look_at_disk_();
}

void Daemon::note_disk(const ConfigurationOnDisk& seen) {
  is_looking_at_disk_ = false;
  if (!seen.refused.empty() && seen.refused != on_disk_.refused) {
    log::warning("the configuration on the disk would be refused, by a reload and by the next start: {}", seen.refused);
  }
  on_disk_ = seen;
}

// Ends the process without destructors: the reloader may be blocked in a system call for ever, and it uses objects that
// would be destroyed here. It is not writing a file that could be left incomplete.
void Daemon::leave_reload_behind() {
  running_socket_.reset();
  control_.reset();
  access_log_->close(kFlushBound);
  log::warning("the reload in progress does not end; exiting without it");
  close_log(kFlushBound);
  ::_exit(exit_status_);
}

tl::expected<void, std::string> Daemon::open_admin() {
  const conf::Admin& admin = started_with_.admin;
  if (!admin.control_socket.empty()) {
    // Nothing but `bloomwall reload` needs it, and the default place exists only where a service manager made it.
    if (const auto opened = open_control(); !opened) {
      log::warning("{}; `bloomwall reload` cannot reach this process, SIGHUP can", opened.error());
      control_retry_.set(control_wait_);
    }
  }
  if (!admin.address) return {};
  std::vector<HttpRoute> routes = admin_pages();
  auto tls = AdminCertificate::load(started_with_, interfaces(), std::time(nullptr));
  if (!tls) return tl::unexpected(tls.error());
  if (may_serve_api(admin)) {
    std::ranges::move(api_routes(), std::back_inserter(routes));
    std::ranges::move(dashboard_routes(), std::back_inserter(routes));
  }
  auto opened = HttpServer::open(io_, *admin.address, HttpRoutes(std::move(routes), admin.hosts), kAdminBounds,
                                 *tls == nullptr ? nullptr : (*tls)->context(), take_passed_admin(*admin.address));
  if (!opened) return tl::unexpected(opened.error());
  admin_ = *std::move(opened);
  log::info("admin on {} (/healthz /readyz /metrics)", admin_->address().text());
  return {};
}

tl::expected<void, std::string> Daemon::open_control() {
  std::vector<HttpRoute> routes = admin_pages();
  std::ranges::move(api_routes(), std::back_inserter(routes));
  routes.push_back(access_->guarded(upgrade_.route()));
  auto opened =
      HttpServer::open_unix(io_, started_with_.admin.control_socket, HttpRoutes(std::move(routes), std::nullopt),
                            kControlBounds, take_passed_control());
  if (!opened) return tl::unexpected(opened.error());
  control_ = *std::move(opened);
  running_socket_ = std::make_unique<RunningSocket>(file_, started_with_.admin.control_socket);
  return {};
}

// Another instance may have held the socket and ended since; usually soon, when this process replaces it.
void Daemon::on_control_retry() {
  if (phase() == Phase::draining) return;
  if (!open_control()) {
    control_wait_ = std::min(2 * control_wait_, kLongestControlWait);
    return control_retry_.set(control_wait_);
  }
  log::info("admin.control_socket {} can be used now", started_with_.admin.control_socket.string());
}

void Daemon::on_signal(int number) {
  switch (number) {
    case SIGHUP:
      upgrade_.note_signal(number);
      reopen_logs(logs_);
      return ask_for_reload({});
    case SIGUSR1:
      upgrade_.note_signal(number);
      return reopen_logs(logs_);
    case SIGTERM:
      return on_terminate();
    default:
      return on_stop_signal(true);  // SIGINT
  }
}

void Daemon::on_watchdog() {
  const auto interval = ServiceManager::watchdog_interval();
  const Milliseconds silence = server_ == nullptr ? Milliseconds(0) : server_->longest_silence();
  if (silence >= kStall && !stalled_) log::error("an event loop has been blocked for {} ms", silence.count());
  if (silence < kStall && stalled_) log::warning("no event loop is blocked any more");
  stalled_ = silence >= kStall;
  if (interval && silence < *interval) manager_.alive();
  if (server_ != nullptr) give_memory_back();
  watchdog_.set(interval ? std::min(*interval, kWatchTick) : kWatchTick);
}

// What TLS and HTTP/2 took is the allocator's; that of the pools gives a peak back itself (BufferPool).
void Daemon::give_memory_back() {
  const Gauges gauges = server_->gauges();
  std::uint64_t held = 0;
  for (std::size_t i = 0; i < kBufferKinds; ++i) {
    if (static_cast<BufferKind>(i) != BufferKind::waiting) held += gauges.buffer_kinds[i];
  }
  if (memory_.is_over(held)) ::malloc_trim(0);
}

void Daemon::on_file_watch() {
  file_tick_.set(kFileWatchPeriod);
  if (served().policy == nullptr || phase() == Phase::draining) return;
  const FileWatch::Seen seen = files_.look(*served().policy, served().snapshot->generation);
  for (const std::string& error : seen.errors) log::error("{}", error);
  if (seen.reload_wanted) ask_for_reload({});
}

void Daemon::ask_for_reload(Reloader::Done done) {
  if (phase() == Phase::draining) {
    if (done) done({kExitError, {}, {"bloomwall is stopping"}});
    return;
  }
  if (!upgrade_.may_reload()) return held_reloads_.push_back(std::move(done));
  log::info("reload asked for");
  ++reloads_under_way_;
  reloader_->request([this, done = std::move(done)](const ReloadOutcome& outcome) {
    loop_.post([this] { --reloads_under_way_; });
    if (done) done(outcome);
  });
}

void Daemon::serve(const Edition& edition, const std::shared_ptr<Handover>& handover) {
  if (predecessor_ != nullptr && state_ == nullptr) return wait_for_predecessor(edition, handover);
  publisher_.serve(edition, handover);
}

void Daemon::on_reloaded() {
  const Snapshot& snapshot = *served().snapshot;
  if (!(snapshot.settings.log == logs_)) reopen_logs(snapshot.settings.log);
  access_->use(snapshot.admin_users);
  traffic_->use(snapshot.settings);
  if (admin_ != nullptr && started_with_.admin.tls.is_on() && snapshot.admin_tls != nullptr)
    admin_->set_tls(snapshot.admin_tls->context());
  exceptions_->note_builds(review_builds(state_->state(), *served().policy));
}

tl::expected<Workers*, ReloadOutcome> Daemon::start_serving(const Edition& edition) {
  std::vector<Endpoint> own_addresses;
  if (admin_ != nullptr) own_addresses.push_back(admin_->address());
  auto server = Server::create(edition, *access_log_, std::exchange(passed_.listeners, {}), own_addresses,
                               state_ == nullptr ? nullptr : &state_->tokens(), report_desk_.get(),
                               &traffic_->query_log(), std::exchange(logins_before_, {}));
  if (!server) {
    std::vector<std::string> lines = taken_addresses(edition.snapshot->settings, HeldBy::other_processes);
    lines.insert(lines.begin(), server.error());
    return tl::unexpected(ReloadOutcome{kExitError, {}, std::move(lines)});
  }
  server_ = *std::move(server);
  server_->start();
  for (const Endpoint& address : server_->addresses()) log::info("listening on {}", address.text());
  return server_.get();
}

// Logs the outcome, and reports READY=1 to systemd.
void Daemon::after_load(const ReloadOutcome& outcome) {
  if (phase() == Phase::starting) tell_predecessor(outcome);
  if (status_api_ != nullptr) status_api_->note(outcome, std::time(nullptr));
  const char* const what = reloads_.succeeded == 0 ? "start" : "reload";
  for (const std::string& warning : outcome.warnings) log::warning("{}: {}", what, warning);
  const log::Level level = outcome.ok() ? log::Level::info : log::Level::error;
  for (const std::string& line : outcome.lines) log::line(level, "{}: {}", what, line);
  ++(outcome.ok() ? reloads_.succeeded : reloads_.failed);
  if (outcome.status == kExitRefused) ++reloads_.rollbacks;
  if (outcome.ok()) reloads_.last_success = std::chrono::system_clock::now();
  on_disk_tick();                    // of what was just loaded nothing may differ
  if (phase() == Phase::starting) {  // the first load, and it failed
    exit_status_ = outcome.status;
    return loop_.stop();
  }
  if (phase() != Phase::serving) return;
  std::string status = status_text();
  if (!outcome.ok() && !outcome.lines.empty()) status += "; the last reload was refused: " + outcome.lines.front();
  manager_.ready(status);
}

void Daemon::reopen_logs(const conf::Log& settings) {
  logs_ = settings;
  reopen_log(settings);
  if (settings.access.file != "off") access_log_->reopen(settings.access.file);
}

std::string Daemon::status_text() const {
  if (served().snapshot == nullptr) return "starting";
  return fmt::format("generation {}: {}", served().snapshot->generation, describe(*served().policy));
}

std::vector<HttpRoute> Daemon::admin_pages() const {
  return admin_routes([this] { return admin_answers(); });
}

AdminAnswers Daemon::admin_answers() const {
  return {
      .phase = phase(),
      .lost = served().policy == nullptr ? std::string() : lost_and_blocking(*served().policy, served().groups.get()),
      .metrics = [this] { return metrics(); },
      .inspection = served().snapshot == nullptr ? nullptr : served().snapshot->inspection.get()};
}

}  // namespace bloomwall::proxy
