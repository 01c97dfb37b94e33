// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/metrics.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "proxy/api/list_metrics.h"
#include "proxy/api/login_metrics.h"
#include "proxy/api/metric_families.h"
#include "proxy/api/possible_reasons.h"
#include "proxy/api/process_facts.h"
#include "proxy/api/tls_metrics.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

double number(std::uint64_t value) { return static_cast<double>(value); }
double seconds(TimePoint time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

void add_requests(MetricFamilies& out, const Counters& counters) {
  out.counter("requests_total", "Requests judged, by class of method, verdict and why");
  for (std::size_t m = 0; m < kMethodClasses; ++m) {
    for (std::size_t d = 0; d < kDecisions; ++d) {
      for (std::size_t r = 0; r < kReasons; ++r) {
        const std::uint64_t count = counters.requests[m][d][r].get();
        const auto decision = static_cast<filter::Decision>(d);
        const auto reason = static_cast<filter::VerdictReason>(r);
        if (count == 0 && !can_be_reason(decision, reason)) continue;
        out.row(number(count), {{"method_class", to_string(static_cast<MethodClass>(m))},
                                {"verdict", filter::to_string(decision)},
                                {"reason", filter::to_string(reason)}});
      }
    }
  }
}

void add_answers(MetricFamilies& out, const Counters& counters) {
  out.counter("errors_total", "Requests that the proxy answered with an error of its own, or cut short, by cause");
  for (std::size_t kind = 0; kind < kErrorKinds; ++kind) {
    out.row(number(counters.errors[kind].get()), {{"kind", to_string(static_cast<ErrorKind>(kind))}});
  }
  out.counter("responses_total", "Responses sent to clients, by class of status; none: closed without one");
  constexpr std::array<std::string_view, kStatusClasses> kNames{"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  for (std::size_t i = 0; i < kStatusClasses; ++i) out.row(number(counters.responses[i].get()), {{"class", kNames[i]}});

  std::vector<std::uint64_t> counts;
  for (const Count& count : counters.request_duration) counts.push_back(count.get());
  out.histogram("request_duration_seconds",
                "From the first byte of a request to the last of its response; of tunnels nothing");
  out.distribution({kDurationBounds.begin(), kDurationBounds.end()}, counts,
                   number(counters.request_duration_microseconds.get()) / 1e6);
}

void add_rows(MetricFamilies& out, const MetricsInput& input) {
  for (const CounterRow& row : kCounterRows) {
    if (row.member == &Counters::log_lines_dropped_total) continue;  // counted by the logs themselves
    row.gauge ? out.gauge(row.name, row.help) : out.counter(row.name, row.help);
    out.row(number((input.counters.*row.member).get()));
  }
  out.gauge("requests_in_flight", "Requests being answered");
  out.row(number(input.gauges.requests_in_flight));
  out.gauge("dns_cache_entries", "Names remembered");
  out.row(number(input.gauges.dns_cache_entries));
  out.gauge("buffer_bytes", "Memory held by connections, of limits.buffer_memory");
  out.row(number(input.gauges.buffer_bytes));
  out.gauge("buffer_kind_bytes",
            "Memory held by connections, by what it holds: octets that wait, heads, TLS and HTTP/2 of connections, "
            "idle ones included");
  for (std::size_t i = 0; i < kBufferKinds; ++i) {
    out.row(number(input.gauges.buffer_kinds[i]), {{"kind", to_string(static_cast<BufferKind>(i))}});
  }
  out.gauge("loop_silence_seconds", "How long ago the slowest event loop last turned");
  out.row(std::chrono::duration<double>(input.loop_silence).count());
  out.counter("log_lines_dropped_total", "Log lines dropped because their file took them too slowly");
  out.row(number(input.logs.access_dropped), {{"log", "access"}});
  out.row(number(input.logs.daemon_dropped), {{"log", "daemon"}});
  out.counter("access_log_lines_total", "Lines written to the access log");
  out.row(number(input.logs.access_written));
}

// One family, one row for each filter.
template <typename Value>
void add_each(MetricFamilies& out, const std::vector<filter::Policy::FilterState>& filters, std::string_view name,
              std::string_view help, Value value) {
  out.gauge(name, help);
  for (const auto& state : filters) out.row(value(state), {{"filter", state.spec.name}});
}

// Of the filters served now; counts survive a reload.
void add_filter_verdicts(MetricFamilies& out, const FilterCounts& counts,
                         const std::vector<filter::Policy::FilterState>& filters) {
  using filter::FilterAction;
  const auto add = [&](FilterAction action) {
    for (const auto& state : filters) {
      out.row(number(counts.get(state.spec.name, action)),
              {{"filter", state.spec.name}, {"action", filter::to_string(action)}});
    }
  };
  out.counter("filter_matches_total",
              "Requests and ClientHellos on which the filter decided, let pass or not, by its action");
  for (const FilterAction action : {FilterAction::block, FilterAction::monitor, FilterAction::allow}) add(action);
  out.counter("filter_verdicts_total",
              "Requests and ClientHellos that the filter blocked, or would have, by its action");
  for (const FilterAction action : {FilterAction::block, FilterAction::monitor}) add(action);
}

// By engines that a group names now.
void add_safe_search(MetricFamilies& out, const CountsByName<1>& counts, const SafeSearch* rules) {
  if (rules == nullptr) return;
  out.counter("safe_search_total", "Requests that went to the name under which the engine keeps its strict filter on");
  for (const std::string& engine : rules->engines()) out.row(number(counts.get(engine)), {{"engine", engine}});
}

// Of clients' and administrators' connections, and the CAs of TLS inspection.
void add_certificates(MetricFamilies& out, const Snapshot& snapshot) {
  out.gauge("certificate_not_after_timestamp_seconds", "When a certificate expires, by what it is for");
  for (const ListenerRules& listener : snapshot.listeners) {
    if (listener.tls == nullptr) continue;
    out.row(static_cast<double>(listener.tls->validity().not_after),
            {{"use", "listener"}, {"listener", listener.address}});
  }
  if (snapshot.admin_tls != nullptr) {
    out.row(static_cast<double>(snapshot.admin_tls->context()->validity().not_after),
            {{"use", "admin"}, {"listener", ""}});
  }
  if (snapshot.inspection == nullptr) return;
  for (const auto& [role, not_after] : snapshot.inspection->authority_ends()) {
    if (role != PublishedAuthority::Role::in_use) continue;
    out.row(static_cast<double>(not_after), {{"use", "inspection"}, {"listener", ""}});
  }
}

void add_filters(MetricFamilies& out, const filter::Policy& policy, const std::map<std::string, std::int64_t>& since,
                 TimePoint now) {
  const auto filters = policy.filters();
  const auto header = [](const auto& state) -> const filter::Header& { return state.file->header(); };
  add_each(out, filters, "filter_entries", "Distinct entries of the filter file",
           [](const auto& state) { return number(entries_of(state)); });
  add_each(out, filters, "filter_delta_entries", "Adds and removes in the delta on top of the filter file",
           [](const auto& state) { return number(state.delta_entries); });
  add_each(out, filters, "filter_delta_ratio",
           "Adds and removes of the delta as a share of the entries in the filter file",
           [](const auto& state) { return state.delta_share(); });
  add_each(out, filters, "filter_rebuild_due", "1 where the share of the delta is over rebuild_at",
           [](const auto& state) { return state.rebuild_due() ? 1.0 : 0.0; });
  add_each(out, filters, "filter_sequence", "Place of the filter file in its series",
           [&](const auto& state) { return number(header(state).sequence); });
  add_each(out, filters, "filter_signed", "1 where a trusted key signed it, as its public_key asks for",
           [](const auto& state) { return state.signed_by ? 1.0 : 0.0; });
  add_each(out, filters, "filter_bytes", "Size of the filter file",
           [&](const auto& state) { return number(header(state).file_bytes); });
  add_each(out, filters, "filter_build_timestamp_seconds", "When the filter file was built",
           [&](const auto& state) { return number(header(state).created); });
  add_each(out, filters, "filter_age_seconds", "How long ago the filter file was built",
           [&](const auto& state) { return std::max(0.0, seconds(now) - number(header(state).created)); });
  add_each(out, filters, "filter_lost", "1 where the file failed under the running proxy and on_error decides",
           [](const auto& state) { return state.file->lost() ? 1.0 : 0.0; });
  add_each(out, filters, "filter_fallback",
           "1 where the last good files of the filter are served, since its own were refused when the process began",
           [](const auto& state) { return state.refused.empty() ? 0.0 : 1.0; });
  add_each(out, filters, "filter_last_good_timestamp_seconds",
           "When the files of the filter that are kept for a start were served first; 0: there are none",
           [&](const auto& state) {
             const auto at = since.find(state.spec.name);
             return at == since.end() ? 0.0 : static_cast<double>(at->second);
           });
  out.gauge("filter_residence", "1 for where the bytes of the filter are");
  for (const auto& state : filters) {
    for (const filter::Residence where : {filter::Residence::resident, filter::Residence::locked,
                                          filter::Residence::copied, filter::Residence::paged}) {
      out.row(state.file->residence() == where ? 1.0 : 0.0,
              {{"filter", state.spec.name}, {"residence", filter::to_string(where)}});
    }
  }
  out.gauge("filter_expected_fp_ratio", "Share of requests that the filter would match by mistake, as predicted");
  for (const auto& state : filters) {
    const filter::Policy::RequestError predicted = state.predicted_error();
    out.row(predicted.unlisted_host, {{"filter", state.spec.name}, {"class", "unlisted_host"}});
    out.row(predicted.listed_host, {{"filter", state.spec.name}, {"class", "listed_host"}});
  }
  const auto error = policy.predicted_error();
  out.gauge("expected_fp_ratio", "Share of requests that any blocking filter would match by mistake, as predicted");
  out.row(error.unlisted_host, {{"class", "unlisted_host"}});
  out.row(error.listed_host, {{"class", "listed_host"}});
  out.gauge("allowlist_entries", "Entries of all allow lists");
  out.row(number(policy.allow_entries()));
}

// Of groups and schedules that are configured now; there are none where no groups are.
void add_groups(MetricFamilies& out, const CountsByName<kDecisions>& counts, const GroupRules& rules, Instant now) {
  out.counter("group_requests_total", "Requests judged, by the group of the client and verdict");
  for (std::size_t group = 0; group < rules.size(); ++group) {
    for (std::size_t decision = 0; decision < kDecisions; ++decision) {
      out.row(number(counts.get(rules.name(group), decision)),
              {{"group", rules.name(group)}, {"verdict", filter::to_string(static_cast<filter::Decision>(decision))}});
    }
  }
  if (rules.schedules().empty()) return;
  out.gauge("schedule_active", "1 while the schedule is active");
  for (const Schedule& schedule : rules.schedules()) {
    out.row(schedule.is_active_at(now) ? 1.0 : 0.0, {{"schedule", schedule.name()}});
  }
}

// By protocols that a door of the configuration speaks.
void add_questions(MetricFamilies& out, const AnswerCounts& counts, const std::vector<AnswerRules>& doors) {
  if (doors.empty()) return;
  std::set<std::string_view> protocols;
  for (const AnswerRules& door : doors) protocols.insert(to_string(door.protocol));
  out.counter("answers_total", "Questions of other programs (`answers`), by protocol and what they were answered");
  for (const std::string_view protocol : protocols) {
    for (std::size_t answer = 0; answer < AnswerCounts::kAnswers.size(); ++answer) {
      out.row(number(counts.answered(protocol, answer)),
              {{"protocol", protocol}, {"answer", AnswerCounts::kAnswers.at(answer)}});
    }
  }
  out.gauge("answers_connections_active", "Connections of other programs (`answers`) that are open, by protocol");
  for (const std::string_view protocol : protocols)
    out.row(number(counts.connections(protocol)), {{"protocol", protocol}});
}

void add_tunnels(MetricFamilies& out, const Counters& counters) {
  out.counter("tunnels_ended_total",
              "Tunnels ended, by cause; rules: denied by a reload, a schedule, a switch and so on");
  for (std::size_t cause = 0; cause < kTunnelEndCauses; ++cause) {
    out.row(number(counters.tunnels_ended[cause].get()), {{"cause", to_string(static_cast<TunnelEndCause>(cause))}});
  }
}

void add_state(MetricFamilies& out, const MetricsInput& input) {
  out.gauge("exceptions", "Exceptions that `bloomwall allow` and `bloomwall deny` have made");
  out.row(number(input.state.allowed), {{"action", "allow"}});
  out.row(number(input.state.denied), {{"action", "deny"}});
  out.gauge("exceptions_insisted", "Exceptions until a build whose entries three builds have listed again");
  out.row(number(input.state.insisted));
  out.counter("exception_hits_total", "Requests that an exception decided on");
  out.row(number(input.counters.exception_hits[0].get()), {{"action", "allow"}});
  out.row(number(input.counters.exception_hits[1].get()), {{"action", "deny"}});
  out.gauge("state_lost", "1 where state.db cannot be used: exceptions.json is served, and nothing can be changed");
  out.row(input.state.is_lost ? 1.0 : 0.0);
  out.gauge(
      "state_void",
      "Exceptions, switches and tokens that name a group, a user or a filter which the configuration does not have");
  out.row(number(input.state.void_allowed), {{"kind", "allow"}});
  out.row(number(input.state.void_denied), {{"kind", "deny"}});
  out.row(number(input.state.void_switches), {{"kind", "switch"}});
  out.row(number(input.state.void_tokens), {{"kind", "token"}});
  out.gauge("tokens", "Tokens that `bloomwall token` has made");
  out.row(number(input.state.tokens));
}

void add_admin(MetricFamilies& out, const AdminCounts& counts) {
  constexpr std::array<std::string_view, 6> kNames{"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
  out.counter("admin_requests_total", "Requests to the admin address and the control socket, by class of the status");
  for (std::size_t i = 2; i < kNames.size(); ++i) out.row(number(counts.answered[i]), {{"class", kNames[i]}});
  out.counter("login_failures_total",
              "Attempts to use the API or to sign in to the dashboard with a wrong token or password, or while locked");
  out.row(number(counts.login_failures));
}

void add_reloads(MetricFamilies& out, const MetricsInput& input) {
  out.counter("filter_reload_total", "Loads of configuration, filters and allow lists, the first one included");
  out.row(number(input.reloads.succeeded), {{"result", "success"}});
  out.row(number(input.reloads.failed), {{"result", "failure"}});
  out.gauge("configuration_differs",
            "1 where the configuration's files, or a users file, say something else than what is served");
  out.row(input.disk.differs ? 1.0 : 0.0);
  out.gauge("configuration_refused",
            "1 where the configuration's files, or a users file, are wrong: a reload and the next start would fail");
  out.row(input.disk.is_refused ? 1.0 : 0.0);
  out.counter("upgrades_total", "Upgrades: another process has taken over, or could not");
  out.row(number(input.upgrades.succeeded), {{"result", "success"}});
  out.row(number(input.upgrades.failed), {{"result", "failure"}});
  out.counter("rollbacks_refused_total", "Reloads that failed because a filter was older than one served before");
  out.row(number(input.reloads.refused[static_cast<std::size_t>(RefusalReason::older)]));
  out.counter("reloads_refused_total",
              "Loads that were refused, or began with the last good files of a filter, by reason; one with several "
              "reasons counts for each");
  for (std::size_t i = 0; i < kRefusalReasons; ++i) {
    out.row(number(input.reloads.refused[i]), {{"reason", kRefusalReasonNames.text(static_cast<RefusalReason>(i))}});
  }
  out.gauge("last_reload_success_timestamp_seconds", "When the last reload that went well ended");
  out.row(input.reloads.succeeded == 0 ? 0.0 : seconds(input.reloads.last_success));
  out.gauge("generation", "How often what is served has been replaced, plus one");
  out.row(input.snapshot == nullptr ? 0.0 : number(input.snapshot->generation));
  out.gauge("generations_alive", "Generations whose filters are in memory: 1, and 2 while one replaces the other");
  out.row(number(input.policies_alive));
  out.gauge("ready", "1 while the proxy serves");
  out.row(input.phase == Phase::serving ? 1.0 : 0.0);
  out.gauge("build_info", "1, with the version");
  out.row(1, {{"version", BLOOMWALL_VERSION}});
}

void add_query_log(MetricFamilies& out, const QueryLog::Figures& figures) {
  out.counter("query_log_rows_total",
              "Rows of the query log: written, dropped for want of room in memory, or failed on the disk");
  out.row(number(figures.written), {{"result", "written"}});
  out.row(number(figures.dropped), {{"result", "dropped"}});
  out.row(number(figures.failed), {{"result", "failed"}});
  out.gauge("query_log_bytes", "Size of the files of the query log");
  out.row(number(figures.bytes));
}

void add_reports(MetricFamilies& out, const MetricsInput& input) {
  const ReportFigures& figures = input.reports;
  const ReportCounts& counts = input.report_counts;
  out.gauge("reports_open", "Reports of mistakes that nobody has decided on");
  out.row(number(figures.open));
  out.gauge("report_oldest_seconds", "How long the oldest open report of a mistake has waited");
  out.row(static_cast<double>(figures.oldest_seconds));
  out.counter("reports_total", "Reports of mistakes, and decisions on them, by what became of them");
  out.row(number(counts.taken), {{"result", "taken"}});
  out.row(number(counts.merged), {{"result", "merged"}});
  out.row(number(counts.forged), {{"result", "forged"}});
  out.row(number(counts.late), {{"result", "late"}});
  out.row(number(counts.limited), {{"result", "limited"}});
  out.row(number(counts.failed), {{"result", "failed"}});
  out.row(number(counts.accepted), {{"result", "accepted"}});
  out.row(number(counts.rejected), {{"result", "rejected"}});
  out.counter("report_webhooks_total", "New reports that reports.webhook was to be told of, by what became of that");
  out.row(number(input.webhook.sent), {{"result", "sent"}});
  out.row(number(input.webhook.failed), {{"result", "failed"}});
  out.row(number(input.webhook.dropped), {{"result", "dropped"}});
}

void add_process(MetricFamilies& out) {
  const ProcessFacts facts = read_process_facts();
  out.process_counter("cpu_seconds_total", "CPU time of user and system");
  out.row(facts.cpu_seconds);
  out.process_gauge("resident_memory_bytes", "Resident memory, mapped filters included");
  out.row(number(facts.resident_bytes));
  out.process_gauge("resident_anonymous_bytes", "Resident memory that belongs to no file");
  out.row(number(facts.anonymous_bytes));
  out.process_gauge("open_fds", "Open file descriptors");
  out.row(number(facts.open_descriptors));
  out.process_gauge("max_fds", "How many may be open");
  out.row(number(facts.most_descriptors));
  out.process_gauge("start_time_seconds", "When the process began");
  out.row(facts.start_seconds);
}

}  // namespace

std::string metrics_text(const MetricsInput& input) {
  static const std::map<std::string, std::int64_t> kNone;
  MetricFamilies out;
  add_requests(out, input.counters);
  add_answers(out, input.counters);
  add_rows(out, input);
  add_tunnels(out, input.counters);
  add_tls_metrics(out, input.counters.tls);
  if (input.snapshot != nullptr) {
    add_certificates(out, *input.snapshot);
    add_questions(out, input.counters.answers, input.snapshot->answers);
    add_safe_search(out, input.counters.safe_search, input.snapshot->safe_search.get());
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(input.now.time_since_epoch());
    if (input.snapshot->groups != nullptr) add_groups(out, input.counters.groups, *input.snapshot->groups, now.count());
  }
  if (input.snapshot != nullptr && input.snapshot->inspection != nullptr)
    add_inspection_metrics(out, *input.snapshot->inspection);
  if (input.policy != nullptr) {
    add_filter_verdicts(out, input.counters.filters, input.policy->filters());
    add_filters(out, *input.policy, input.last_good == nullptr ? kNone : *input.last_good, input.now);
  }
  add_login_metrics(out, input.counters.logins, input.logins);
  add_reloads(out, input);
  add_state(out, input);
  add_admin(out, input.admin);
  add_reports(out, input);
  add_query_log(out, input.query_log);
  if (input.snapshot != nullptr && input.lists != nullptr) {
    add_list_metrics(out, input.snapshot->settings, *input.lists, std::chrono::system_clock::to_time_t(input.now));
  }
  add_process(out);
  return out.text();
}

}  // namespace bloomwall::proxy
