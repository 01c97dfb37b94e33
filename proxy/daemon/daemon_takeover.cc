// The daemon as the new process of an upgrade (predecessor.h).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "proxy/daemon/daemon.h"
#include "proxy/log/log.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {

void Daemon::meet_predecessor() {
  predecessor_ = std::make_unique<Predecessor>(
      loop_, std::move(passed_.channel),
      Predecessor::Events{
          .on_go = [this](const UpgradeCounts& before, UniqueFd logins) { take_over(before, std::move(logins)); },
          .on_main =
              [this] {
                ServiceManager::speak();
                manager_.ready(status_text());
                manager_.alive();
                log::info("this process has taken over from the previous one");
              },
          .on_lost =
              [this] {
                log::error("the previous process has ended, or has given up the upgrade");
                exit_status_ = kExitError;
                on_stop_signal(true);
              }});
}

void Daemon::wait_for_predecessor(const Edition& edition, const std::shared_ptr<Handover>& handover) {
  waiting_edition_ = edition;
  waiting_handover_ = handover;
  predecessor_->say_ready();
}

// No other process changes the state by now. All in one turn of the loop: a client of a socket that is closed again has
// not been accepted.
void Daemon::take_over(const UpgradeCounts& before, UniqueFd logins) {
  if (waiting_handover_ == nullptr || phase() != Phase::starting) return;
  const auto handover = std::exchange(waiting_handover_, nullptr);
  const Edition edition = std::exchange(waiting_edition_, {});
  if (ReloadOutcome opened = open_what_was_held(); !opened.ok()) {
    close_what_was_held();
    return handover->served(std::move(opened));
  }
  upgrade_.begin_with(before);
  logins_before_ = std::move(logins);
  serve(edition, handover);
  if (phase() != Phase::serving) return close_what_was_held();
  keep_control_socket();
  predecessor_->say_serving();
}

ReloadOutcome Daemon::open_what_was_held() {
  if (const auto opened = open_state(); !opened) return {kExitConfiguration, {}, {opened.error()}};
  if (const auto opened = open_admin(); !opened) return {kExitError, {}, {opened.error()}};
  return {};
}

void Daemon::close_what_was_held() {
  if (running_socket_ != nullptr) running_socket_->forget();
  control_.reset();
  admin_.reset();
}

UniqueFd Daemon::take_passed_control() {
  const bool is_meant = passed_.control_path == started_with_.admin.control_socket;
  return is_meant ? std::move(passed_.control) : UniqueFd();
}

// The name of one that the configuration does not name any more is removed.
void Daemon::keep_control_socket() {
  if (control_ != nullptr) control_->keep_name();
  if (passed_.control) const SocketName removed(passed_.control_path);
  passed_.control.reset();
}

std::optional<ListeningSocket> Daemon::take_passed_admin(const std::string& address) {
  const auto wanted = Endpoint::parse(address);
  auto passed = std::exchange(passed_.admin, std::nullopt);
  if (!passed || !wanted) return std::nullopt;
  const bool is_meant = wanted->port() == 0 ? wanted->same_ip(passed->address) : *wanted == passed->address;
  return is_meant ? std::move(passed) : std::nullopt;
}

void Daemon::tell_predecessor(const ReloadOutcome& outcome) const {
  if (predecessor_ == nullptr || outcome.ok()) return;
  for (const std::string& line : outcome.lines) predecessor_->say(line);
}

void Daemon::on_progress(const std::string& progress) {
  if (predecessor_ != nullptr && phase() == Phase::starting) predecessor_->say(progress);
  reload_api_.say(progress);
}

}  // namespace bloomwall::proxy
