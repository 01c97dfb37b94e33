// Gathers what /metrics says (declared in daemon.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ctime>

#include "proxy/api/metrics.h"
#include "proxy/daemon/daemon.h"
#include "proxy/log/log.h"
#include "proxy/telemetry/counters.h"

namespace bloomwall::proxy {
namespace {

MetricsInput::StateFigures state_figures(const StateService& service, const VoidNames& orphans) {
  const State& state = service.state();
  const auto denied = std::ranges::count(state.exceptions, filter::Override::Action::deny,
                                         [](const ExceptionItem& each) { return each.exception.action; });
  const auto insisted = std::ranges::count_if(state.exceptions, [](const ExceptionItem& each) {
    return each.until_build && each.builds >= ExceptionItem::kInsists;
  });
  return {.is_lost = !service.is_usable(),
          .allowed = state.exceptions.size() - static_cast<std::size_t>(denied),
          .denied = static_cast<std::size_t>(denied),
          .tokens = state.tokens->all().size(),
          .insisted = static_cast<std::size_t>(insisted),
          .void_allowed = orphans.allowed,
          .void_denied = orphans.denied,
          .void_switches = orphans.switches,
          .void_tokens = orphans.tokens};
}

}  // namespace

AdminCounts Daemon::admin_counts() const {
  AdminCounts counts{.login_failures = access_ == nullptr ? 0 : access_->login_failures()};
  for (const HttpServer* const server : {control_.get(), admin_.get()}) {
    if (server == nullptr) continue;
    for (std::size_t i = 0; i < counts.answered.size(); ++i) counts.answered[i] += server->answered()[i];
  }
  return counts;
}

std::string Daemon::metrics() const {
  Counters sum;
  if (server_ != nullptr) server_->add_counters_to(sum);
  const MetricsInput input{
      .counters = sum,
      .gauges = server_ == nullptr ? Gauges{} : server_->gauges(),
      .snapshot = served().snapshot.get(),
      .policy = served().policy.get(),
      .policies_alive = publisher_.policies_alive(),
      .logins = server_ == nullptr ? Authenticator::Figures{} : server_->logins(),
      .reloads = reloads_,
      .disk = {.differs = on_disk_.differs, .is_refused = !on_disk_.refused.empty()},
      .logs = {access_log_->lines_written(), access_log_->lines_dropped(), log_lines_dropped()},
      .state = state_figures(*state_, publisher_.void_names()),
      .admin = admin_counts(),
      .reports = report_figures(*state_->state().reports, std::time(nullptr)),
      .query_log = traffic_->status().figures,
      .report_counts = report_counts_,
      .webhook = webhook_.figures(),
      .upgrades = upgrade_.counts(),
      .lists = served().snapshot == nullptr ? nullptr : &lists_api_->state(served().snapshot->settings),
      .phase = phase(),
      .loop_silence = server_ == nullptr ? Milliseconds(0) : server_->longest_silence(),
      .now = std::chrono::system_clock::now()};
  return metrics_text(input);
}

}  // namespace bloomwall::proxy
