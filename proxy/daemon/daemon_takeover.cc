// The daemon as the new process of an upgrade (predecessor.h).
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "proxy/api/api.h"
#include "proxy/api/metrics.h"
#include "proxy/daemon/admin_servers.h"
#include "proxy/daemon/daemon.h"
#include "proxy/daemon/predecessor.h"
#include "proxy/daemon/publisher.h"
#include "proxy/daemon/upgrade.h"
#include "proxy/daemon/waiting.h"
#include "proxy/io/service_manager.h"
#include "proxy/log/log.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {

void Daemon::meet_predecessor() {
  predecessor_ = std::make_unique<Predecessor>(
      loop_, std::move(passed_->channel),
      Predecessor::Events{
          .on_go = [this](const UpgradeCounts& before, UniqueFd logins) { take_over(before, std::move(logins)); },
          .on_main =
              [this] {
                ServiceManager::speak();
                ServiceManager().ready(status_text());
                ServiceManager().alive();
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
  waiting_ = std::make_unique<Waiting>(Waiting{.edition = edition, .handover = handover});
  predecessor_->say_ready();
}

// No other process changes the state by now. All in one turn of the loop: a client of a socket that is closed again has
// not been accepted.
void Daemon::take_over(const UpgradeCounts& before, UniqueFd logins) {
  if (waiting_ == nullptr || waiting_->handover == nullptr || phase() != Phase::starting) return;
  const auto handover = std::exchange(waiting_->handover, nullptr);
  const Edition edition = std::exchange(waiting_->edition, {});
  if (ReloadOutcome opened = open_what_was_held(); !opened.ok()) {
    servers_->give_up();
    return handover->served(std::move(opened));
  }
  upgrade_->begin_with(before);
  waiting_->logins = std::move(logins);
  serve(edition, handover);
  waiting_.reset();
  if (phase() != Phase::serving) return servers_->give_up();
  servers_->keep_control_socket(*passed_);
  predecessor_->say_serving();
}

ReloadOutcome Daemon::open_what_was_held() {
  if (const auto opened = open_state(); !opened) return {kExitConfiguration, {}, {opened.error()}};
  if (const auto opened = servers_->open(*passed_); !opened) return {kExitError, {}, {opened.error()}};
  return {};
}

}  // namespace bloomwall::proxy
