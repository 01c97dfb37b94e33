// The daemon as the old process of an upgrade (upgrade.h).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "proxy/api/api.h"
#include "proxy/api/state_service.h"
#include "proxy/api/traffic_service.h"
#include "proxy/daemon/admin_servers.h"
#include "proxy/daemon/daemon.h"
#include "proxy/daemon/publisher.h"
#include "proxy/daemon/reloads.h"
#include "proxy/daemon/upgrade.h"
#include "proxy/io/service_manager.h"
#include "proxy/log/log.h"
#include "proxy/reload/loading.h"
#include "proxy/worker/server.h"

namespace bloomwall::proxy {
namespace {

std::vector<std::string> command_to_run(const std::filesystem::path& file) {
  std::vector<std::string> out{own_program().string(), "run"};
  if (!file.empty()) out.insert(out.end(), {"--config", file.string()});
  return out;
}

tl::expected<std::vector<Successor::Passed>, std::string> sockets_for_successor(const Server& server,
                                                                                const AdminServers& admin) {
  auto listeners = server.share_listeners();
  if (!listeners) return tl::unexpected(listeners.error());
  std::vector<Successor::Passed> out;
  for (ListeningSocket& socket : *listeners) {
    out.push_back({std::move(socket.fd), socket.is_passed ? kPassedKept : kPassedListener});
  }
  auto others = admin.share_sockets();
  if (!others) return tl::unexpected(others.error());
  std::ranges::move(*others, std::back_inserter(out));
  return out;
}

}  // namespace

std::unique_ptr<Upgrade> Daemon::make_upgrade() {
  return std::make_unique<Upgrade>(
      loop_, configuration_file(file_), command_to_run(file_), *publisher_,
      Upgrade::Process{
          .sockets = [this] { return sockets_for_successor(*server_, *servers_); },
          .is_reloading = [this] { return reloads_->is_under_way(); },
          .reload = [this] { reloads_->ask_for_held(); },
          .hold = [this](bool is_held) { hold(is_held); },
          .is_changing = [this] { return publisher_->is_awaited(); },
          .release_state = [this](const Author& by, const std::string& subject,
                                  const Upgrade::Released& done) { release_state(by, subject, done); },
          .note_failure = [this](const Author& by, const std::string& why) { note_failed_upgrade(by, why); },
          .logins = [this] { return server_->share_logins(); },
          .hand_over = [this](pid_t successor,
                              std::function<void()> closed) { hand_over_to(successor, std::move(closed)); },
          .lost = [this](const std::string& why) { on_successor_lost(why); },
          .end = [this] { on_stop_signal(false); }});
}

// Clients of the API wait in the queues, for whichever process it will be.
void Daemon::hold(bool is_held) {
  publisher_->hold(is_held);
  if (phase() == Phase::serving) servers_->hold(is_held);
}

// Where state.db was removed or changed under this process, another one would begin without what is denied now.
void Daemon::release_state(const Author& by, const std::string& subject,
                           const std::function<void(const std::string& fault)>& done) {
  const AuditRow row{
      .author = by, .what = "upgrade.begun", .subject = subject, .before = {}, .after = {}, .why = {}, .report = 0};
  const bool is_asked = api_->state().ask(
      [row](StateStore& store) {
        auto noted = store.note(row);
        store.release();
        return noted;
      },
      [this, done](const StateResult<void>& noted) {
        if (!noted) log::warning("audit: {}", noted.error().what);
        const bool is_lost = api_->was_usable() && !api_->state().is_usable();
        done(is_lost && !noted ? noted.error().what : std::string());
      });
  if (!is_asked) upgrade_->cancel("too many changes of the state wait");
}

void Daemon::note_failed_upgrade(const Author& by, const std::string& why) {
  const AuditRow row{.author = by,
                     .what = "upgrade.failed",
                     .subject = fmt::format("process {}", ::getpid()),
                     .before = {},
                     .after = {},
                     .why = why,
                     .report = 0};
  api_->state().ask([row](StateStore& store) { return store.note(row); },
                    [](const StateResult<void>& noted) {
                      if (!noted) log::warning("audit: {}", noted.error().what);
                    });
}

// From here on this process accepts nobody, tells systemd nothing and writes no state.
void Daemon::hand_over_to(pid_t successor, std::function<void()> closed) {
  ServiceManager::hand_over(successor);
  publisher_->drain();
  reloads_->answer_held(fmt::format("process {} has taken over, and reloads", successor));
  servers_->hand_over();
  traffic_->hand_over();
  log::info("process {} serves from now on", successor);
  drain(true, [this, closed = std::move(closed)] { loop_.post(closed); });
}

// systemd restarts the service once this process, whose child it was, has ended.
void Daemon::on_successor_lost(const std::string& why) {
  log::error("{}, after it had taken over", why);
  if (std::getenv("NOTIFY_SOCKET") == nullptr) return;
  exit_status_ = kExitError;
  on_stop_signal(true);
}

}  // namespace bloomwall::proxy
