// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/login_metrics.h"

#include <vector>

namespace bloomwall::proxy {
namespace {

double login_figure(std::uint64_t value) { return static_cast<double>(value); }

void add_logins(MetricFamilies& out, const LoginCounts& counts) {
  out.counter("auth_total", "Requests whose client must log in, by scheme of the credentials and what came of them");
  for (std::size_t scheme = 0; scheme < LoginCounts::kSchemes; ++scheme) {
    for (std::size_t result = 0; result < LoginCounts::kResults; ++result) {
      const bool is_missing = static_cast<LoginResult>(result) == LoginResult::missing;
      const std::uint64_t count = counts.results[scheme][result].get();
      // Those that can grow are there from the start, so that the first refusal is seen as an increase.
      if (count == 0 && (scheme == 0) != is_missing) continue;
      out.row(login_figure(count), {{"scheme", to_string(static_cast<LoginScheme>(scheme))},
                                    {"result", to_string(static_cast<LoginResult>(result))}});
    }
  }
  std::vector<std::uint64_t> seconds;
  for (const Count& count : counts.seconds) seconds.push_back(count.get());
  out.histogram("auth_seconds", "How long clients waited for the check of their credentials, where there was one");
  out.distribution({LoginCounts::kBounds.begin(), LoginCounts::kBounds.end()}, seconds,
                   login_figure(counts.microseconds.get()) / 1e6);
}

// Of the helpers that are configured, or were.
void add_helpers(MetricFamilies& out, const HelperLogins::Figures& helpers) {
  using Figures = HelperPool::Figures;
  const auto add = [&](std::uint64_t Figures::* figure) {
    for (const auto& [name, figures] : helpers) {
      if (name != nullptr) out.row(login_figure(figures.*figure), {{"helper", name}});
    }
  };
  out.counter("helper_questions_total", "Questions that helpers were asked about logins");
  add(&Figures::asked);
  out.counter("helper_answers_total", "Questions about logins that helpers have answered");
  add(&Figures::answered);
  out.counter("helper_unanswered_total",
              "Questions about logins without an answer in time, or at which a helper has died twice");
  add(&Figures::unanswered);
  out.counter("helper_deaths_total", "Processes of helpers that have ended, were ended, or could not be started");
  add(&Figures::deaths);
  out.counter("helper_restarts_total", "Processes of helpers that were started in the place of one that had ended");
  add(&Figures::restarts);
  out.gauge("helper_processes", "Processes of helpers, by whether they are asked something");
  for (const auto& [name, figures] : helpers) {
    if (name == nullptr) continue;
    out.row(login_figure(figures.busy), {{"helper", name}, {"state", "busy"}});
    out.row(login_figure(figures.processes - figures.busy), {{"helper", name}, {"state", "idle"}});
  }
  out.gauge("helper_queue", "Checks of credentials that wait for a process of a helper");
  add(&Figures::waiting);
}

}  // namespace

void add_login_metrics(MetricFamilies& out, const LoginCounts& counts, const Authenticator::Figures& figures) {
  add_logins(out, counts);
  out.gauge("auth_cache_entries", "Checks of credentials whose outcome is remembered");
  out.row(login_figure(figures.remembered));
  out.gauge("auth_locked", "Clients and users that are locked because of too many wrong credentials");
  out.row(login_figure(figures.locked_clients), {{"kind", "client"}});
  out.row(login_figure(figures.locked_users), {{"kind", "user"}});
  add_helpers(out, figures.helpers);
}

}  // namespace bloomwall::proxy
