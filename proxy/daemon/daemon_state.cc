// What people have changed in the running proxy, and what schedules change: published as editions of what is served.
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

constexpr Milliseconds kSweepPeriod{1000};    // of exceptions that have ended
constexpr Milliseconds kSchedulePeriod{500};  // how late a change may be

// The verdict on what the entry itself says.
filter::Verdict verdict_on(const filter::Policy& policy, const filter::Override& made) {
  filter::Canonicaliser canonicaliser;
  if (filter::is_host_kind(made.kind)) return policy.judge_host(canonicaliser.host(made.entry));
  return policy.judge(canonicaliser.url("http://" + made.entry));
}

// Names each filter in it that takes exceptions and lists some of this network: to which of its addresses the entry
// leads is not known.
void name_those_of_network(const filter::Policy& policy, const filter::AddressRange& network, filter::Override& made) {
  for (const auto& state : policy.filters()) {
    const bool is_named = std::ranges::find(made.filters, state.spec.name) != made.filters.end();
    const bool stops = state.spec.action == filter::FilterAction::block && state.spec.takes_overrides;
    if (stops && !is_named && state.file->networks().overlaps(network)) made.filters.push_back(state.spec.name);
  }
}

filter::Override for_everybody(filter::Override made) {
  made.client.reset();
  made.user = made.group = {};
  return made;
}

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
  const auto is_ending = [this] { return takes_no_changes(); };
  const auto generation = [this] { return served_.snapshot == nullptr ? 0 : served_.snapshot->generation; };
  const ExceptionsApi::Daemon hooks{
      .publish = [this](std::function<void()> adopted) { publish_exceptions(std::move(adopted)); },
      .is_ending = is_ending,
      .refusal = [this](const filter::Override& made) { return exception_refusal(made); },
      .builds =
          [this](const filter::Override& made) {
            return served_.policy == nullptr ? std::map<std::string, std::string>() : builds_of(made, *served_.policy);
          },
      .is_listed =
          [this](const filter::Override& made) {
            return served_.policy == nullptr || is_listed(made, *served_.policy);
          },
      .widen = [this](filter::Override& made, const std::string& group,
                      const std::optional<filter::AddressRange>& network) { return widen(made, group, network); },
      .warnings = [this](const filter::Override& made) { return exception_warnings(made); },
      .fault =
          [this](const filter::Override& made) { return served_.snapshot == nullptr ? "" : names().fault_of(made); },
      .generation = generation};
  state_->tell([this](const AuditRow& row) { log_change(row); });
  exceptions_ = std::make_unique<ExceptionsApi>(*state_, hooks);
  reports_api_ = std::make_unique<ReportsApi>(*state_, hooks, report_counts_,
                                              [this](const ReportItem& accepted) { find_own_error(accepted); });
  why_api_ = std::make_unique<WhyApi>(loop_, [this]() -> const Edition& { return served_; });
  explain_api_ = std::make_unique<ExplainApi>(loop_, *state_, [this]() -> const Edition& { return served_; });
  state_api_ = std::make_unique<StateApi>(*state_, StateApi::Daemon{.publish = hooks.publish,
                                                                    .is_ending = is_ending,
                                                                    .faults =
                                                                        [this](const Token& token) {
                                                                          return served_.snapshot == nullptr
                                                                                     ? std::vector<std::string>()
                                                                                     : names().faults_of(token);
                                                                        },
                                                                    .generation = generation});
  groups_api_ = std::make_unique<GroupsApi>(
      *state_,
      GroupsApi::Daemon{.publish = [this](std::function<void()> adopted) { publish_exceptions(std::move(adopted)); },
                        .is_ending = is_ending,
                        .groups = [this] { return served_.snapshot == nullptr ? nullptr : served_.snapshot->groups; }});
  status_api_ =
      std::make_unique<StatusApi>(*state_, StatusApi::Daemon{.served = [this]() -> const Edition& { return served_; },
                                                             .phase = [this] { return phase_; },
                                                             .configuration = configuration_file(file_).string(),
                                                             .traffic = [this] { return traffic_->status(); },
                                                             .on_disk = [this] { return on_disk_; },
                                                             .since_start = conf::restart_values(started_with_)});
  config_api_ = std::make_unique<ConfigApi>([this] { return served_.snapshot; });
  lists_api_ = std::make_unique<ListsApi>([this] { return served_.snapshot; }, *state_);
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
      loop_, *state_, *secret, [this] { return takes_no_changes(); }, report_counts_,
      ReportDesk::Clocks{.seconds = [] { return std::int64_t{std::time(nullptr)}; }},
      [this](const ReportItem& report) {
        if (served_.snapshot != nullptr) webhook_.send(served_.snapshot->settings.reports.webhook, report);
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
                  if (takes_no_changes() || std::ranges::none_of(answer.filters, is_own)) return;
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

// The same snapshot, filters and allow lists: no reload, and the generation stays. Open tunnels are judged again.
void Daemon::publish_exceptions(std::function<void()> adopted) {
  const auto waiting = std::make_shared<std::function<void()>>(std::move(adopted));
  std::erase_if(waiting_, [](const auto& each) { return *each == nullptr; });
  waiting_.push_back(waiting);
  const auto posted = [this, waiting] { loop_.post([waiting] { answer(*waiting); }); };
  if (server_ == nullptr) return posted();  // no worker to adopt them
  if (phase_ != Phase::draining) return publish(with_exceptions(served_), posted);
  publish(with_exceptions(served_), {});  // some workers may have ended
  posted();
}

// Once.
void Daemon::answer(std::function<void()>& waiting) {
  if (const auto adopted = std::exchange(waiting, nullptr)) adopted();
}

// A worker that ends takes nothing more, and the change is made.
void Daemon::answer_all() {
  for (const auto& waiting : waiting_) loop_.post([waiting] { answer(*waiting); });
}

// Somebody has asked for a change and was not answered.
bool Daemon::is_awaited() const {
  return state_->is_asked() || std::ranges::any_of(waiting_, [](const auto& each) { return *each != nullptr; });
}

Edition Daemon::with_exceptions(const Edition& edition) const {
  return Edition{.snapshot = edition.snapshot,
                 .policy = edition.policy->with(
                     with_called_users(state_->state().overrides(), edition.snapshot->authentication.get())),
                 .switches = state_->state().switches_in_force()}
      .at(instant_now());
}

void Daemon::publish(const Edition& edition, const std::function<void()>& adopted) {
  server_->publish(edition, adopted);
  keep(edition);
}

// The same snapshot and filters, with what groups do with them from now on. A step of the clock is a change, too.
void Daemon::on_schedule_tick() {
  schedule_tick_.set(kSchedulePeriod);
  if (server_ == nullptr || phase_ == Phase::draining || served_.groups == nullptr) return;
  const Instant now = instant_now();
  if (served_.groups->hold_at(now)) return;
  const Edition next = served_.at(now);
  if (next.groups->says_the_same_as(*served_.groups)) {
    served_.groups = next.groups;  // no worker need know
    return;
  }
  log::info("schedules: {}", describe_changes(*served_.snapshot->groups, *served_.groups, *next.groups));
  publish(next, {});
}

NameReview Daemon::names() const { return {*served_.snapshot, state_->state().tokens.get()}; }

// Of all that is stored, by what is served; looked at again when either has changed.
const VoidNames& Daemon::void_names() const {
  const bool is_same = void_names_of_.first == served_.snapshot && void_names_of_.second == state_->shared();
  if (is_same || served_.snapshot == nullptr) return void_names_;
  const State& state = state_->state();
  void_names_ = find_void_names(names(), state.exceptions, state.switches, state.tokens.get());
  void_names_of_ = {served_.snapshot, state_->shared()};
  return void_names_;
}

std::vector<std::string> Daemon::exception_warnings(const filter::Override& made) const {
  std::vector<std::string> out;
  if (served_.policy == nullptr) return out;
  filter::Override of_user = made;  // names of filters are looked at one by one below
  of_user.filters.clear();
  if (std::string fault = names().fault_of(of_user); !fault.empty()) out.push_back(std::move(fault));
  const auto filters = served_.policy->filters();
  for (const std::string& name : made.filters) {
    const auto is_named = [&](const filter::Policy::FilterState& state) { return state.spec.name == name; };
    if (std::ranges::none_of(filters, is_named)) out.push_back(fmt::format("no filter has the name {}", name));
  }
  if (filter::is_host_kind(made.kind)) return out;
  filter::Canonicaliser canonicaliser;
  const filter::Verdict verdict =
      served_.policy->judge_host(canonicaliser.host(std::string_view(made.entry).substr(0, made.entry.find('/'))));
  const bool are_urls_seen =
      served_.snapshot != nullptr && served_.snapshot->inspection != nullptr &&
      conf::greatest_inspection_mode(served_.snapshot->settings) >= conf::TlsInspection::Mode::urls;
  if (are_urls_seen) return out;
  if (made.action == filter::Override::Action::deny) {
    out.emplace_back("a path is not seen inside https tunnels; deny the host to close those as well");
  } else if (verdict.decision == filter::Decision::blocked) {
    out.push_back(
        fmt::format("tunnels to its host stay blocked by {}: over https this opens nothing", verdict.filter->name));
  }
  return out;
}

bool Daemon::widen(filter::Override& made, const std::string& group,
                   const std::optional<filter::AddressRange>& network) const {
  PolicyPtr policy = served_.policy;
  if (policy == nullptr) return true;
  for (std::size_t i = 0; served_.groups != nullptr && i < served_.groups->size(); ++i) {
    if (served_.snapshot->groups->name(i) == group) policy = served_.groups->of(i);
  }
  while (true) {
    const PolicyPtr with = policy->with({for_everybody(made)});
    const filter::Verdict verdict = verdict_on(*with, made);
    if (verdict.decision != filter::Decision::blocked) {
      if (network) name_those_of_network(*policy, *network, made);
      return true;
    }
    if (verdict.reason == filter::VerdictReason::default_deny) return false;
    // What it names and is stopped by all the same takes no exceptions.
    const bool is_named = std::ranges::find(made.filters, verdict.filter->name) != made.filters.end();
    if (is_named) return true;
    made.filters.push_back(verdict.filter->name);
  }
}

// Of `admin.tls: internal`; a file's stays as it was read.
void Daemon::renew_admin_certificate() {
  if (admin_ == nullptr || served_.snapshot == nullptr || served_.snapshot->admin_tls == nullptr) return;
  AdminCertificate& certificate = *served_.snapshot->admin_tls;
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
  if (phase_ == Phase::serving && !upgrade_.is_holding()) exceptions_->sweep();
}

// For a group that there is not, or an allow that some filter with exceptions: refused leaves without effect.
std::string Daemon::exception_refusal(const filter::Override& made) const {
  if (!made.group.empty() && served_.snapshot != nullptr) {
    std::string unknown = unknown_group(served_.snapshot->groups.get(), made.group);
    if (!unknown.empty()) return unknown;
  }
  if (made.action == filter::Override::Action::deny || served_.policy == nullptr) return {};
  const auto refuses = [](const filter::FilterSpec& spec) {
    return fmt::format("the filter {} takes no exceptions (filters[].exceptions); an allow list opens it", spec.name);
  };
  for (const auto& state : served_.policy->filters()) {
    const bool is_named = std::ranges::find(made.filters, state.spec.name) != made.filters.end();
    if (is_named && !state.spec.takes_overrides) return refuses(state.spec);
  }
  if (!made.filters.empty()) return {};
  const PolicyPtr with = served_.policy->with({for_everybody(made)});
  const filter::Verdict verdict = verdict_on(*with, made);
  const bool is_stopped = verdict.decision == filter::Decision::blocked && verdict.filter != nullptr;
  return is_stopped && !verdict.filter->takes_overrides ? refuses(*verdict.filter) : std::string();
}

}  // namespace bloomwall::proxy
