// SPDX-License-Identifier: Apache-2.0
#include "proxy/daemon/daemon.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include "base/units.h"
#include "proxy/answers/answer_doors.h"
#include "proxy/api/admin_pages.h"
#include "proxy/api/api.h"
#include "proxy/api/dashboard.h"
#include "proxy/api/metrics.h"
#include "proxy/api/report_webhook.h"
#include "proxy/api/state_service.h"
#include "proxy/api/traffic_service.h"
#include "proxy/check/port_holders.h"
#include "proxy/check/settings_check.h"
#include "proxy/daemon/admin_servers.h"
#include "proxy/daemon/predecessor.h"
#include "proxy/daemon/publisher.h"
#include "proxy/daemon/reloads.h"
#include "proxy/daemon/signals.h"
#include "proxy/daemon/upgrade.h"
#include "proxy/daemon/waiting.h"
#include "proxy/daemon/watchdog.h"
#include "proxy/io/service_manager.h"
#include "proxy/log/access_log.h"
#include "proxy/log/log.h"
#include "proxy/reload/file_watch.h"
#include "proxy/reload/loading.h"
#include "proxy/telemetry/counters.h"
#include "proxy/worker/server.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kFlushBound{5000};
constexpr Milliseconds kReloadBound{2000};  // for a reload to give up
constexpr Milliseconds kSweepPeriod{1000};  // of what ends by its time
constexpr Milliseconds kDrainTick{50};
constexpr Milliseconds kStopMargin{10'000};

}  // namespace

Daemon::Daemon(std::filesystem::path file, conf::Config settings, std::unique_ptr<AccessLog> access_log,
               PassedSockets passed)
    : file_(std::move(file)),
      started_with_(std::move(settings)),
      access_log_(std::move(access_log)),
      exit_status_(kExitDone),
      passed_(std::make_unique<PassedSockets>(std::move(passed))),
      logs_(started_with_.log),
      webhook_(std::make_unique<ReportWebhook>()),
      publisher_(std::make_unique<Publisher>(
          loop_, Publisher::Process{.start = [this](const Edition& first) { return start_serving(first); },
                                    .on_reloaded = [this] { on_reloaded(); }})),
      servers_(std::make_unique<AdminServers>(
          loop_, *publisher_, file_, started_with_,
          [this](AdminServers::Door door) { return routes(door == AdminServers::Door::control_socket); })),
      reloads_(std::make_unique<Reloads>(
          loop_, *publisher_, file_, started_with_,
          Reloads::Process{.serve = [this](const Edition& edition,
                                           const std::shared_ptr<Handover>& handover) { serve(edition, handover); },
                           .on_progress = [this](const std::string& text) { on_progress(text); },
                           .on_outcome = [this](const ReloadOutcome& outcome) { on_outcome(outcome); },
                           .may_reload = [this] { return upgrade_->may_reload(); },
                           .may_fall_back = !passed_->is_upgrade()})),
      upgrade_(make_upgrade()),
      announced_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->drain(false); }, this),
      drain_tick_(
          loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_drain_tick(); }, this),
      sweep_tick_(loop_.timers(), [](void* self) { static_cast<Daemon*>(self)->on_sweep(); }, this) {}

Daemon::~Daemon() = default;

int Daemon::run() {
  traffic_ = std::make_unique<TrafficService>(loop_, *publisher_);
  if (passed_->is_upgrade()) {
    meet_predecessor();
  } else if (const auto opened = open_state(); !opened) {  // what was denied would pass
    log::error("{}", opened.error());
    return kExitConfiguration;
  }
  signals_ = std::make_unique<Signals>(loop_, [this](int number) { on_signal(number); });
  if (predecessor_ == nullptr) {
    if (const auto opened = servers_->open(*passed_); !opened) {
      log::error("{}", opened.error());
      return kExitError;
    }
  }
  watchdog_ = std::make_unique<Watchdog>(loop_);
  on_sweep();  // begins its ticks
  reloads_->start();
  loop_.run();

  if (!reloads_->stop(kReloadBound)) leave_reload_behind();
  servers_->close();
  server_.reset();
  api_.reset();  // after what was asked of it is done
  traffic_.reset();
  access_log_->close(kFlushBound);
  log::info("stopped");
  return exit_status_;
}

tl::expected<void, std::string> Daemon::open_state() {
  auto opened = Api::open({.loop = loop_,
                           .served = *publisher_,
                           .file = file_,
                           .started_with = started_with_,
                           .traffic = *traffic_,
                           .log = *access_log_,
                           .webhook = *webhook_,
                           .on_disk = reloads_->on_disk(),
                           .reload = [this](Reloader::Done done) { reloads_->ask(std::move(done)); }});
  if (!opened) return tl::unexpected(opened.error());
  api_ = *std::move(opened);
  publisher_->use(api_->state());
  return {};
}

// Ends the process without destructors: the reloader may be blocked in a system call for ever, and it uses objects that
// would be destroyed here. It is not writing a file that could be left incomplete.
void Daemon::leave_reload_behind() {
  servers_->close_control();
  access_log_->close(kFlushBound);
  log::warning("the reload in progress does not end; exiting without it");
  close_log(kFlushBound);
  ::_exit(exit_status_);
}

void Daemon::on_signal(int number) {
  switch (number) {
    case SIGHUP:
      upgrade_->note_signal(number);
      reopen_logs(logs_);
      return reloads_->ask({});
    case SIGUSR1:
      upgrade_->note_signal(number);
      return reopen_logs(logs_);
    case SIGTERM:
      return on_terminate();
    default:
      return on_stop_signal(true);  // SIGINT
  }
}

void Daemon::serve(const Edition& edition, const std::shared_ptr<Handover>& handover) {
  if (predecessor_ != nullptr && api_ == nullptr) return wait_for_predecessor(edition, handover);
  publisher_->serve(edition, handover);
}

tl::expected<Workers*, ReloadOutcome> Daemon::start_serving(const Edition& edition) {
  std::vector<Endpoint> own_addresses;
  if (const auto address = servers_->address()) own_addresses.push_back(*address);
  auto server = Server::create(edition, *access_log_, std::exchange(passed_->listeners, {}), own_addresses,
                               &api_->state().tokens(), api_->reports(), &traffic_->query_log(),
                               waiting_ == nullptr ? UniqueFd() : std::move(waiting_->logins));
  if (!server) {
    std::vector<std::string> lines = taken_addresses(edition.snapshot->settings, HeldBy::other_processes);
    lines.insert(lines.begin(), server.error());
    return tl::unexpected(ReloadOutcome{kExitError, {}, std::move(lines)});
  }
  server_ = *std::move(server);
  server_->start();
  watchdog_->watch(*server_);
  for (const Endpoint& address : server_->addresses()) log::info("listening on {}", address.text());
  const auto& answers = edition.snapshot->settings.answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool is_path = !unix_path_of(answers[i].address).empty();
    log::info("answering on {}", is_path ? answers[i].address : server_->answer_addresses()[i].text());
  }
  return server_.get();
}

void Daemon::on_reloaded() {
  const conf::Config& settings = served().snapshot->settings;
  if (!(settings.log == logs_)) reopen_logs(settings.log);
  traffic_->use(settings);
  servers_->show_certificate();
  api_->on_reloaded();
}

void Daemon::on_outcome(const ReloadOutcome& outcome) {
  if (phase() == Phase::starting && predecessor_ != nullptr && !outcome.ok()) {
    for (const std::string& line : outcome.lines) predecessor_->say(line);
  }
  if (api_ != nullptr) api_->note(outcome);
  if (phase() == Phase::starting) {  // the first load, and it failed
    exit_status_ = outcome.status;
    return loop_.stop();
  }
  if (phase() != Phase::serving) return;
  std::string status = status_text();
  if (!outcome.ok() && !outcome.lines.empty()) status += "; the last reload was refused: " + outcome.lines.front();
  ServiceManager().ready(status);
}

void Daemon::on_progress(const std::string& progress) {
  if (predecessor_ != nullptr && phase() == Phase::starting) predecessor_->say(progress);
  reloads_->say(progress);
}

void Daemon::reopen_logs(const conf::Log& settings) {
  logs_ = settings;
  reopen_log(settings);
  if (settings.access.file != "off") access_log_->reopen(settings.access.file);
}

void Daemon::on_sweep() {
  sweep_tick_.set(kSweepPeriod);
  traffic_->tick();
  servers_->renew_certificate();
  if (api_ != nullptr) api_->tick();
}

const Edition& Daemon::served() const { return publisher_->edition(); }
Phase Daemon::phase() const { return publisher_->phase(); }

// A service manager tells all processes of the service; one that drains for its successor goes on with that.
void Daemon::on_terminate() {
  if ((upgrade_->is_done() && !was_told_to_end_) || upgrade_->postpone_end()) {
    was_told_to_end_ = true;
    return;
  }
  on_stop_signal(phase() == Phase::draining);
}

void Daemon::on_stop_signal(bool now) {
  ServiceManager().stopping(now ? "stopping" : "draining");
  upgrade_->cancel("bloomwall is stopping");
  if (server_ == nullptr) return loop_.stop();
  publisher_->drain();
  api_->state().release();  // for the process that takes over
  if (!now) return announce();
  log::info("stopping now");
  announced_.clear();
  server_->stop();
  drain_tick_.set(kDrainTick);
}

void Daemon::announce() {
  const conf::Timeouts& timeouts = served().snapshot->settings.timeouts;
  ServiceManager().extend(timeouts.announce + timeouts.drain + kStopMargin);
  if (timeouts.announce == Milliseconds(0)) return drain(false);
  log::info("announcing the shutdown for {}: new clients are accepted, every answer closes its connection",
            format_duration(timeouts.announce));
  server_->announce();
  announced_.set(timeouts.announce);
}

void Daemon::drain(bool has_successor, const std::function<void()>& closed) {
  const Milliseconds bound = served().snapshot->settings.timeouts.drain;
  log::info("draining for at most {}", format_duration(bound));
  ServiceManager().extend(bound + kStopMargin);
  server_->drain(bound, has_successor, closed);
  drain_tick_.set(kDrainTick);
}

void Daemon::on_drain_tick() {
  if (!server_->ended() || upgrade_->has_to_answer()) return drain_tick_.set(kDrainTick);
  if (publisher_->is_awaited()) {  // the askers of changes are told the outcome
    api_->state().hurry();
    return drain_tick_.set(kDrainTick);
  }
  tell_what_was_cut();
  loop_.stop();
}

void Daemon::tell_what_was_cut() const {
  const Server::Cut cut = server_->cut();
  if (cut.tunnels + cut.requests == 0) return;
  log::warning("{} tunnels and {} requests were still in progress and were cut", cut.tunnels, cut.requests);
}

std::vector<HttpRoute> Daemon::routes(bool is_control) {
  std::vector<HttpRoute> routes = admin_routes([this] { return admin_answers(); });
  if (!is_control && !may_serve_api(started_with_.admin)) return routes;
  std::ranges::move(api_->routes(reloads_->route()), std::back_inserter(routes));
  if (is_control) {
    routes.push_back(api_->guarded(upgrade_->route()));
  } else {
    std::ranges::move(dashboard_routes(), std::back_inserter(routes));
  }
  return routes;
}

std::string Daemon::status_text() const {
  if (served().snapshot == nullptr) return "starting";
  const std::string fallbacks = names_of_fallbacks(*served().policy);
  return fmt::format(
      "generation {}: {}{}{}", served().snapshot->generation, describe(*served().policy),
      fallbacks.empty() ? "" : "; served from last good files, since their own are refused: ", fallbacks);
}

AdminAnswers Daemon::admin_answers() const {
  const Edition& edition = served();
  return {.phase = phase(),
          .lost = edition.policy == nullptr ? std::string() : lost_and_blocking(*edition.policy, edition.groups.get()),
          .metrics = [this] { return metrics(); },
          .inspection = edition.snapshot == nullptr ? nullptr : edition.snapshot->inspection.get()};
}

std::string Daemon::metrics() const {
  Counters sum;
  if (server_ != nullptr) server_->add_counters_to(sum);
  const ConfigurationOnDisk& on_disk = reloads_->on_disk();
  MetricsInput input{.counters = sum,
                     .gauges = server_ == nullptr ? Gauges{} : server_->gauges(),
                     .snapshot = served().snapshot.get(),
                     .policy = served().policy.get(),
                     .policies_alive = publisher_->policies_alive(),
                     .logins = server_ == nullptr ? Authenticator::Figures{} : server_->logins(),
                     .reloads = reloads_->counts(),
                     .last_good = &reloads_->last_good(),
                     .disk = {.differs = on_disk.differs, .is_refused = !on_disk.refused.empty()},
                     .logs = {access_log_->lines_written(), access_log_->lines_dropped(), log_lines_dropped()},
                     .admin = {.answered = servers_->answered()},
                     .query_log = traffic_->status().figures,
                     .upgrades = upgrade_->counts(),
                     .phase = phase(),
                     .loop_silence = server_ == nullptr ? Milliseconds(0) : server_->longest_silence(),
                     .now = std::chrono::system_clock::now()};
  api_->add_to(input, publisher_->void_names());
  return metrics_text(input);
}

}  // namespace bloomwall::proxy
