// The daemon as the old process of an upgrade (upgrade.h).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "proxy/daemon/daemon.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {

std::vector<std::string> Daemon::command_to_run(const std::filesystem::path& file) {
  std::vector<std::string> out{own_program().string(), "run"};
  if (!file.empty()) out.insert(out.end(), {"--config", file.string()});
  return out;
}

Upgrade::Daemon Daemon::upgrade_hooks() {
  return {.is_serving = [this] { return phase() == Phase::serving; },
          .sockets = [this] { return sockets_for_successor(); },
          .is_reloading = [this] { return reloads_under_way_ > 0; },
          .reload = [this] { ask_for_held_reloads(); },
          .hold = [this](bool is_held) { hold(is_held); },
          .is_changing = [this] { return publisher_.is_awaited(); },
          .release_state = [this](const Author& by, const std::string& subject,
                                  const StateReleased& done) { release_state(by, subject, done); },
          .note_failure = [this](const Author& by, const std::string& why) { note_failed_upgrade(by, why); },
          .logins = [this] { return server_->share_logins(); },
          .hand_over = [this](pid_t successor) { hand_over_to(successor); },
          .lost = [this](const std::string& why) { on_successor_lost(why); }};
}

tl::expected<std::vector<Successor::Passed>, std::string> Daemon::sockets_for_successor() const {
  auto listeners = server_->share_listeners();
  if (!listeners) return tl::unexpected(listeners.error());
  std::vector<Successor::Passed> out;
  for (ListeningSocket& socket : *listeners) {
    out.push_back({std::move(socket.fd), socket.is_passed ? kPassedKept : kPassedListener});
  }
  for (const auto& [server, name] :
       {std::pair(admin_.get(), kPassedAdmin), std::pair(control_.get(), kPassedControl)}) {
    if (server == nullptr) continue;
    auto socket = server->share_socket();
    if (!socket) return tl::unexpected(socket.error());
    out.push_back({std::move(socket->fd), name});
  }
  return out;
}

// Clients of the API wait in the queues, for whichever process it will be.
void Daemon::hold(bool is_held) {
  publisher_.hold(is_held);
  if (phase() != Phase::serving) return;
  for (HttpServer* const server : {admin_.get(), control_.get()}) {
    if (server != nullptr) is_held ? server->hold() : server->resume();
  }
}

// Where state.db was removed or changed under this process, another one would begin without what is denied now.
void Daemon::release_state(const Author& by, const std::string& subject, const StateReleased& done) {
  const AuditRow row{
      .author = by, .what = "upgrade.begun", .subject = subject, .before = {}, .after = {}, .why = {}, .report = 0};
  const bool is_asked = state_->ask(
      [row](StateStore& store) {
        auto noted = store.note(row);
        store.release();
        return noted;
      },
      [this, done](const StateResult<void>& noted) {
        if (!noted) log::warning("audit: {}", noted.error().what);
        const bool is_lost = was_state_usable_ && !state_->is_usable();
        done(is_lost && !noted ? noted.error().what : std::string());
      });
  if (!is_asked) upgrade_.cancel("too many changes of the state wait");
}

void Daemon::note_failed_upgrade(const Author& by, const std::string& why) {
  const AuditRow row{.author = by,
                     .what = "upgrade.failed",
                     .subject = fmt::format("process {}", ::getpid()),
                     .before = {},
                     .after = {},
                     .why = why,
                     .report = 0};
  state_->ask([row](StateStore& store) { return store.note(row); },
              [](const StateResult<void>& noted) {
                if (!noted) log::warning("audit: {}", noted.error().what);
              });
}

void Daemon::ask_for_held_reloads() {
  for (Reloader::Done& done : std::exchange(held_reloads_, {})) ask_for_reload(std::move(done));
}

// From here on this process accepts nobody, tells systemd nothing and writes no state.
void Daemon::hand_over_to(pid_t successor) {
  manager_.hand_over(successor);
  has_successor_ = true;
  publisher_.drain();
  for (const Reloader::Done& done : std::exchange(held_reloads_, {})) {
    if (done) done({kExitDone, {}, {fmt::format("process {} has taken over, and reloads", successor)}});
  }
  for (HttpServer* const server : {admin_.get(), control_.get()}) {
    if (server != nullptr) server->hand_over();
  }
  if (running_socket_ != nullptr) running_socket_->forget();
  traffic_->hand_over();
  control_retry_.clear();
  log::info("process {} serves from now on", successor);
  drain();
}

// systemd restarts the service once this process, whose child it was, has ended.
void Daemon::on_successor_lost(const std::string& why) {
  log::error("{}, after it had taken over", why);
  if (std::getenv("NOTIFY_SOCKET") == nullptr) return;
  exit_status_ = kExitError;
  on_stop_signal(true);
}

}  // namespace bloomwall::proxy
