// How the process ends: told by a signal, or with another one in its place.
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include "base/units.h"
#include "proxy/daemon/daemon.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kDrainTick{50};
constexpr Milliseconds kStopMargin{10'000};

}  // namespace

// A service manager tells all processes of the service; one that drains for its successor goes on with that.
void Daemon::on_terminate() {
  if (has_successor_ && !was_told_to_end_) {
    was_told_to_end_ = true;
    return;
  }
  on_stop_signal(phase() == Phase::draining);
}

void Daemon::on_stop_signal(bool now) {
  manager_.stopping(now ? "stopping" : "draining");
  upgrade_.cancel("bloomwall is stopping");
  if (server_ == nullptr) return loop_.stop();
  publisher_.drain();
  state_->release();  // for the process that takes over
  if (!now) return announce();
  log::info("stopping now");
  announced_.clear();
  server_->stop();
  drain_tick_.set(kDrainTick);
}

void Daemon::announce() {
  const conf::Timeouts& timeouts = served().snapshot->settings.timeouts;
  manager_.extend(timeouts.announce + timeouts.drain + kStopMargin);
  if (timeouts.announce == Milliseconds(0)) return drain();
  log::info("announcing the shutdown for {}: new clients are accepted, every answer closes its connection",
            format_duration(timeouts.announce));
  server_->announce();
  announced_.set(timeouts.announce);
}

void Daemon::drain() {
  const Milliseconds bound = served().snapshot->settings.timeouts.drain;
  log::info("draining for at most {}", format_duration(bound));
  manager_.extend(bound + kStopMargin);
  server_->drain(bound);
  drain_tick_.set(kDrainTick);
}

void Daemon::on_drain_tick() {
  if (!server_->ended()) return drain_tick_.set(kDrainTick);
  if (publisher_.is_awaited()) {  // the askers of changes are told the outcome
    state_->hurry();
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

}  // namespace bloomwall::proxy
