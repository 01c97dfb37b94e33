// The state that people change in the running proxy, and the API by which they do.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "proxy/api/api_reply.h"
#include "proxy/api/build_review.h"
#include "proxy/daemon/daemon.h"
#include "proxy/explain/called_users.h"
#include "proxy/io/interfaces.h"
#include "proxy/log/log.h"
#include "proxy/log/log_frame.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/rollback_protection.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kSweepPeriod{1000};  // of exceptions that have ended

}  // namespace

tl::expected<void, std::string> Daemon::open_state() {
  auto store = StateStore::open(state_folder(started_with_));
  if (!store) return tl::unexpected(store.error());
  if (!store->fault().empty()) {
    log::error("{}; nothing of it can be changed", store->warning());
  } else if (!store->warning().empty()) {
    log::warning("{}", store->warning());
  }
  std::optional<StateResult<StateStore::Secret>> secret;
  was_state_usable_ = store->fault().empty();
  if (store->is_kept() && was_state_usable_) secret = store->report_secret();
  store->refresh_exports();
  const bool is_kept = store->is_kept();  // which may have found that it cannot be
  state_ = std::make_unique<StateService>(loop_, *std::move(store));
  if (secret && is_kept) open_reports(*secret);
  open_apis();
  return {};
}

void Daemon::open_apis() {
  publisher_.use(*state_);
  state_->tell([this](const AuditRow& row) { log_change(row); });
  exceptions_ = std::make_unique<ExceptionsApi>(*state_, publisher_);
  reports_api_ = std::make_unique<ReportsApi>(*state_, publisher_, report_counts_,
                                              [this](const ReportItem& accepted) { find_own_error(accepted); });
  why_api_ = std::make_unique<WhyApi>(loop_, publisher_);
  explain_api_ = std::make_unique<ExplainApi>(loop_, *state_, publisher_);
  state_api_ = std::make_unique<StateApi>(*state_, publisher_);
  groups_api_ = std::make_unique<GroupsApi>(*state_, publisher_);
  status_api_ = std::make_unique<StatusApi>(*state_, publisher_,
                                            StatusApi::Process{.configuration = configuration_file(file_).string(),
                                                               .traffic = *traffic_,
                                                               .on_disk = on_disk_,
                                                               .since_start = conf::restart_values(started_with_)});
  config_api_ = std::make_unique<ConfigApi>(publisher_);
  lists_api_ = std::make_unique<ListsApi>(publisher_, *state_);
  logins_ = std::make_unique<AdminLogins>(loop_, &monotonic_now);
  access_ = std::make_unique<ApiAccess>(
      state_->tokens(), ApiAccess::Clocks{.seconds = [] { return std::int64_t{std::time(nullptr)}; }}, logins_.get());
}

// Into the machine's log, where requests go there.
void Daemon::log_change(const AuditRow& row) {
  const LogFrame frame = access_log_->frame();
  if (frame == LogFrame::line) return;
  std::string framed;
  append_framed(framed, frame, audit_line(row, frame == LogFrame::syslog ? kMostSyslogLine : 0),
                {{"EVENT", "audit"}, {"USER", row.author.who}, {"WHAT", row.what}, {"SUBJECT", row.subject}});
  access_log_->write(framed);
}

// Also where block_page.reports is false: a reload may change that.
void Daemon::open_reports(const StateResult<StateStore::Secret>& secret) {
  if (!secret) return log::warning("{}: mistakes cannot be reported", secret.error().what);
  report_desk_ = std::make_unique<ReportDesk>(
      loop_, *state_, *secret, [this] { return !publisher_.takes_changes(); }, report_counts_,
      ReportDesk::Clocks{.seconds = [] { return std::int64_t{std::time(nullptr)}; }},
      [this](const ReportItem& report) {
        if (served().snapshot != nullptr) webhook_.send(served().snapshot->settings.reports.webhook, report);
      });
}

// What a filter stops by an error of its own, the next build is to leave out.
void Daemon::find_own_error(const ReportItem& accepted) {
  if (accepted.filter.empty()) return;
  why_api_->ask({.url = accepted.url, .lists = {}, .filter = accepted.filter, .stop = {}},
                [this, url = accepted.url](const WhyAnswer& answer) {
                  const auto is_own = [](const WhyFilter& found) {
                    return found.source == WhyFilter::Source::own_error;
                  };
                  if (!publisher_.takes_changes() || std::ranges::none_of(answer.filters, is_own)) return;
                  state_->ask([url](StateStore& store) { return store.add_known_good(url); },
                              [url](const StateResult<void>& noted) {
                                if (!noted) return log::warning("known-good.txt: {}", noted.error().what);
                                log::info("known-good.txt: the URL of a report is in no source of the filter");
                              });
                });
}

std::vector<HttpRoute> Daemon::api_routes() {
  std::vector<HttpRoute> routes = access_->session_routes();
  routes.push_back(access_->guarded(reload_api_.route(), Role::maintainer));
  routes.push_back(access_->guarded(tls_api_.route(), Role::maintainer));
  for (ApiRoute& route : exceptions_->routes()) routes.push_back(access_->guarded(std::move(route)));
  for (ApiRoute& route : reports_api_->routes()) routes.push_back(access_->guarded(std::move(route)));
  routes.push_back(access_->guarded(why_api_->route()));
  routes.push_back(access_->guarded(explain_api_->route()));
  routes.push_back(StatusApi::description());
  routes.push_back(access_->guarded(config_api_->route()));
  for (ApiRoute& route : lists_api_->routes()) routes.push_back(access_->guarded(std::move(route)));
  for (ApiRoute& route : status_api_->routes()) routes.push_back(access_->guarded(std::move(route)));
  for (ApiRoute& route : traffic_->routes()) routes.push_back(access_->guarded(std::move(route)));
  for (ApiRoute& route : groups_api_->routes()) routes.push_back(access_->guarded(std::move(route)));
  for (ApiRoute& route : state_api_->routes()) routes.push_back(access_->guarded(std::move(route)));
  return routes;
}

// Of `admin.tls: internal`; a file's stays as it was read.
void Daemon::renew_admin_certificate() {
  if (admin_ == nullptr || served().snapshot == nullptr || served().snapshot->admin_tls == nullptr) return;
  AdminCertificate& certificate = *served().snapshot->admin_tls;
  if (certificate.authority() == nullptr) return;
  const auto renewed = certificate.renew(interfaces(), std::time(nullptr));
  std::string failure = renewed ? std::string() : renewed.error();
  if (failure != admin_certificate_failure_ && !failure.empty()) {
    log::error("admin.tls: internal: {}; the certificate before it is shown on", failure);
  }
  admin_certificate_failure_ = std::move(failure);
  if (!renewed || !*renewed) return;
  admin_->set_tls(certificate.context());
  log::info("admin.tls: a new certificate, for {}", fmt::join(certificate.names(), ", "));
}

void Daemon::on_sweep() {
  sweep_tick_.set(kSweepPeriod);
  traffic_->tick();
  renew_admin_certificate();
  if (phase() == Phase::serving && publisher_.takes_changes()) exceptions_->sweep();
}

}  // namespace bloomwall::proxy
