// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/api.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "proxy/api/api_access.h"
#include "proxy/api/build_review.h"
#include "proxy/api/config_api.h"
#include "proxy/api/edits_api.h"
#include "proxy/api/exceptions_api.h"
#include "proxy/api/explain_api.h"
#include "proxy/api/groups_api.h"
#include "proxy/api/lists_api.h"
#include "proxy/api/metrics.h"
#include "proxy/api/report_desk.h"
#include "proxy/api/reports_api.h"
#include "proxy/api/state_api.h"
#include "proxy/api/status_api.h"
#include "proxy/api/tls_api.h"
#include "proxy/api/traffic_service.h"
#include "proxy/api/why_api.h"
#include "proxy/explain/name_review.h"
#include "proxy/log/access_log.h"
#include "proxy/log/log.h"
#include "proxy/log/log_frame.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/rollback_protection.h"

namespace bloomwall::proxy {
namespace {

std::int64_t wall_seconds() { return std::time(nullptr); }

// As a line of the machine's log, where requests go there.
void log_change(AccessLog& log, const AuditRow& row) {
  const LogFrame frame = log.frame();
  if (frame == LogFrame::line) return;
  std::string framed;
  append_framed(framed, frame, audit_line(row, frame == LogFrame::syslog ? kMostSyslogLine : 0),
                {{"EVENT", "audit"}, {"USER", row.author.who}, {"WHAT", row.what}, {"SUBJECT", row.subject}});
  log.write(framed);
}

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

struct Api::Parts {
  Parts(const Process& of, StateStore store, bool was_state_usable)
      : process(of),
        was_usable(was_state_usable),
        state(of.loop, std::move(store)),
        exceptions(state, of.served),
        reports(state, of.served, report_counts, [this](const ReportItem& accepted) { find_own_error(accepted); }),
        why(of.loop, of.served),
        explain(of.loop, state, of.served),
        tokens(state, of.served),
        groups(state, of.served),
        status(state, of.served,
               {.configuration = configuration_file(of.file).string(),
                .traffic = of.traffic,
                .on_disk = of.on_disk,
                .since_start = conf::restart_values(of.started_with)}),
        config(of.served),
        lists(of.served, state),
        tls(of.loop, of.served),
        edits({.loop = of.loop, .state = state, .served = of.served, .file = of.file, .reload = of.reload}),
        logins(of.loop, &monotonic_now),
        access(state.tokens(), {.seconds = wall_seconds}, &logins) {}

  void open_reports(const StateResult<StateStore::Secret>& secret);
  void find_own_error(const ReportItem& accepted);

  const Process process;
  const bool was_usable;
  StateService state;
  ReportCounts report_counts;
  std::unique_ptr<ReportDesk> desk;  // nullptr: reports are not taken
  ExceptionsApi exceptions;
  ReportsApi reports;
  WhyApi why;
  ExplainApi explain;
  StateApi tokens;
  GroupsApi groups;
  StatusApi status;
  ConfigApi config;
  ListsApi lists;
  TlsApi tls;
  EditsApi edits;
  AdminLogins logins;
  ApiAccess access;
};

// Also where block_page.reports is false: a reload may change that.
void Api::Parts::open_reports(const StateResult<StateStore::Secret>& secret) {
  if (!secret) return log::warning("{}: mistakes cannot be reported", secret.error().what);
  desk = std::make_unique<ReportDesk>(
      process.loop, state, *secret, [this] { return !process.served.takes_changes(); }, report_counts,
      ReportDesk::Clocks{.seconds = wall_seconds},
      [this](const ReportItem& report) {
        const SnapshotPtr snapshot = process.served.snapshot();
        if (snapshot != nullptr) process.webhook.send(snapshot->settings.reports.webhook, report);
      });
}

// The next build leaves out what a filter stops by an error of its own.
void Api::Parts::find_own_error(const ReportItem& accepted) {
  if (accepted.filter.empty()) return;
  why.ask({.url = accepted.url, .lists = {}, .filter = accepted.filter, .stop = {}},
          [this, url = accepted.url](const WhyAnswer& answer) {
            const auto is_own = [](const WhyFilter& found) { return found.source == WhyFilter::Source::own_error; };
            if (!process.served.takes_changes() || std::ranges::none_of(answer.filters, is_own)) return;
            state.ask([url](StateStore& store) { return store.add_known_good(url); },
                      [url](const StateResult<void>& noted) {
                        if (!noted) return log::warning("known-good.txt: {}", noted.error().what);
                        log::info("known-good.txt: the URL of a report is in no source of the filter");
                      });
          });
}

Api::Api(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Api::~Api() = default;

tl::expected<std::unique_ptr<Api>, std::string> Api::open(const Process& process) {
  auto store = StateStore::open(state_folder(process.started_with));
  if (!store) return tl::unexpected(store.error());
  const bool was_usable = store->fault().empty();
  if (!was_usable) {
    log::error("{}; nothing of it can be changed", store->warning());
  } else if (!store->warning().empty()) {
    log::warning("{}", store->warning());
  }
  std::optional<StateResult<StateStore::Secret>> secret;
  if (store->is_kept() && was_usable) secret = store->report_secret();
  store->refresh_exports();
  const bool is_kept = store->is_kept();  // which may have found that it cannot be
  auto parts = std::make_unique<Parts>(process, *std::move(store), was_usable);
  if (secret && is_kept) parts->open_reports(*secret);
  parts->state.tell([&log = process.log](const AuditRow& row) { log_change(log, row); });
  return std::unique_ptr<Api>(new Api(std::move(parts)));
}

StateService& Api::state() { return parts_->state; }
bool Api::was_usable() const { return parts_->was_usable; }
SelfService* Api::reports() { return parts_->desk.get(); }

std::vector<HttpRoute> Api::routes(HttpRoute reload) {
  Parts& parts = *parts_;
  std::vector<HttpRoute> routes = parts.access.session_routes();
  const auto add = [&](std::vector<ApiRoute> more) {
    for (ApiRoute& route : more) routes.push_back(parts.access.guarded(std::move(route)));
  };
  routes.push_back(parts.access.guarded(std::move(reload), Role::maintainer));
  routes.push_back(parts.access.guarded(parts.tls.route(), Role::maintainer));
  add(parts.exceptions.routes());
  add(parts.reports.routes());
  add({parts.why.route(), parts.explain.route()});
  routes.push_back(StatusApi::description());
  add({parts.config.route()});
  add(parts.lists.routes());
  add(parts.status.routes());
  add(parts.process.traffic.routes());
  add(parts.groups.routes());
  add(parts.tokens.routes());
  add(parts.edits.routes());
  return routes;
}

HttpRoute Api::guarded(ApiRoute route) { return parts_->access.guarded(std::move(route)); }

void Api::on_reloaded() {
  const Edition& edition = parts_->process.served.edition();
  parts_->access.use(edition.snapshot->admin_users);
  parts_->exceptions.note_builds(review_builds(parts_->state.state(), *edition.policy));
}

void Api::note(const ReloadOutcome& outcome) { parts_->status.note(outcome, std::time(nullptr)); }

void Api::tick() {
  const Served& served = parts_->process.served;
  if (served.phase() == Phase::serving && served.takes_changes()) parts_->exceptions.sweep();
}

void Api::add_to(MetricsInput& input, const VoidNames& void_names) {
  input.state = state_figures(parts_->state, void_names);
  input.admin.login_failures = parts_->access.login_failures();
  input.reports = report_figures(*parts_->state.state().reports, std::time(nullptr));
  input.report_counts = parts_->report_counts;
  input.webhook = parts_->process.webhook.figures();
  const SnapshotPtr snapshot = parts_->process.served.snapshot();
  input.lists = snapshot == nullptr ? nullptr : &parts_->lists.state(snapshot->settings);
}

}  // namespace bloomwall::proxy
