// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/status_api.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "filter/cli/terminal.h"
#include "proxy/ops/api_reply.h"
#include "proxy/ops/called_users.h"
#include "proxy/ops/loading.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using filter::printable;
using nlohmann::ordered_json;

ordered_json described(const filter::Policy::FilterState& state, std::uint64_t generation) {
  const filter::Header& header = state.file->header();
  const auto& predicted = header.predicted;
  const std::int64_t age = std::time(nullptr) - static_cast<std::int64_t>(header.created);
  return {{"name", state.spec.name},
          {"file", printable(state.spec.file.string())},
          {"action", to_string(state.spec.action)},
          {"exceptions", state.spec.takes_overrides ? "allowed" : "refused"},
          {"entries", entries_of(state)},
          {"delta_entries", state.delta_entries},
          {"bytes", header.file_bytes},
          {"created", time_text(static_cast<std::int64_t>(header.created))},
          {"sequence", header.sequence},
          {"lost", state.file->lost()},
          {"rebuild_due", state.rebuild_due()},
          {"predicted_error",
           {{"unlisted_host", predicted.unlisted_host.mean}, {"listed_host", predicted.listed_host.mean}}},
          {"age_seconds", std::max<std::int64_t>(age, 0)},
          {"generation", generation}};
}

ordered_json null_if_empty(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(printable(text));
}

void add_verdict(ordered_json& json, const filter::Verdict& verdict) {
  json["verdict"] = to_string(verdict.decision);
  json["reason"] = to_string(verdict.reason);
  json["filter"] = verdict.filter == nullptr ? ordered_json() : ordered_json(verdict.filter->name);
  json["expression"] = verdict.expression.empty()
                           ? ordered_json()
                           : ordered_json(fmt::format("{} {}", static_cast<char>(verdict.kind), verdict.expression));
  json["exception"] = verdict.exception == 0 ? ordered_json() : ordered_json(verdict.exception);
}

// Whose request it would be; nullptr: nobody has to log in for it.
UserPtr user_of(const Snapshot& snapshot, const conf::Listener& listener, const Address& client,
                const std::string& name, std::string_view host) {
  const AuthenticationRules* const rules = snapshot.authentication.get();
  const bool is_transparent = listener.mode == conf::Listener::Mode::transparent;
  if (rules == nullptr || name.empty() || is_transparent || !rules->required.contains(client)) return nullptr;
  return rules->is_exempt(host) ? nullptr : user_meant_by(*rules, name);
}

HttpReply not_serving() { return problem(503, "Nothing is served", "bloomwall is starting or stopping"); }

}  // namespace

std::vector<ApiRoute> StatusApi::routes() {
  const auto get = [](std::string_view path, Role role, std::function<HttpReply(const ApiRequest&)> handler) {
    return ApiRoute{.method = "GET", .path = path, .role = role, .handler = std::move(handler)};
  };
  return {get("/api/v1/status", Role::viewer, [this](const ApiRequest&) { return status(); }),
          get("/api/v1/filters", Role::viewer, [this](const ApiRequest&) { return filters(); }),
          get("/api/v1/filters/{name}", Role::viewer, [this](const ApiRequest& request) { return filter(request); }),
          get("/api/v1/explain", Role::reviewer, [this](const ApiRequest& request) { return explain(request); }),
          get("/api/v1/reloads", Role::maintainer, [this](const ApiRequest&) { return reloads(); })};
}

HttpRoute StatusApi::description() {
  return {.method = "GET", .path = "/api/v1/openapi.json", .handler = [](const HttpRequest&) {
            return HttpReply{.type = "application/json", .body = std::string(api_description())};
          }};
}

void StatusApi::note(const ReloadOutcome& outcome, std::int64_t at) {
  reloads_.push_front({at, outcome});
  if (reloads_.size() > kReloads) reloads_.pop_back();
}

HttpReply StatusApi::status() const {
  const Edition& served = daemon_.served();
  const TrafficService::Status traffic = daemon_.traffic();
  return json_reply({{"version", BLOOMWALL_VERSION},
                     {"pid", ::getpid()},
                     {"phase", to_string(daemon_.phase())},
                     {"generation", served.snapshot == nullptr ? 0 : served.snapshot->generation},
                     {"configuration", printable(daemon_.configuration)},
                     {"filters", served.policy == nullptr ? 0 : served.policy->filters().size()},
                     {"exceptions", state_.state().exceptions.size()},
                     {"tokens", state_.state().tokens->all().size()},
                     {"state", {{"usable", state_.is_usable()}, {"kept", state_.is_kept()}}},
                     {"started", time_text(started_)},
                     {"query_log",
                      {{"record", to_string(traffic.record)},
                       {"clients", to_string(traffic.clients)},
                       {"written", traffic.figures.written},
                       {"dropped", traffic.figures.dropped + traffic.figures.failed},
                       {"bytes", traffic.figures.bytes}}}});
}

HttpReply StatusApi::filters() const {
  const Edition& served = daemon_.served();
  if (served.policy == nullptr) return not_serving();
  ordered_json items = ordered_json::array();
  for (const auto& state : served.policy->filters()) items.push_back(described(state, served.snapshot->generation));
  return list_reply(std::move(items));
}

HttpReply StatusApi::filter(const ApiRequest& request) const {
  const Edition& served = daemon_.served();
  if (served.policy == nullptr) return not_serving();
  for (const auto& state : served.policy->filters()) {
    if (state.spec.name == request.http.arguments.front())
      return json_reply(described(state, served.snapshot->generation));
  }
  return problem(404, "No such filter", "GET /api/v1/filters shows all");
}

// With the exceptions that have not ended by then.
Edition StatusApi::served_at(Instant instant) const {
  const Edition& served = daemon_.served();
  std::vector<filter::Override> made =
      with_called_users(state_.state().overrides(), served.snapshot->authentication.get());
  std::erase_if(made, [instant](const filter::Override& each) { return each.until <= instant; });
  for (filter::Override& each : made) each.until = filter::Override::kForever;
  return Edition{
      .snapshot = served.snapshot, .policy = served.policy->with(std::move(made)), .switches = served.switches}
      .at(instant);
}

HttpReply StatusApi::explain(const ApiRequest& request) {
  if (daemon_.served().policy == nullptr) return not_serving();
  const std::string at_text = query_argument(request.http.head, "at");
  const auto at = at_text.empty() ? std::optional(instant_now()) : parse_time(at_text);
  if (!at) return problem(400, "Not understood", "at: a time such as 2026-01-31T12:00:00Z is needed");
  const Edition served = at_text.empty() ? daemon_.served() : served_at(*at);
  const RequestHead& head = request.http.head;
  const std::string url = query_argument(head, "url"), client_text = query_argument(head, "client"),
                    user = query_argument(head, "user");
  std::string listener = query_argument(head, "listener");
  if (listener.empty()) listener = served.snapshot->settings.listeners.front().address;
  const auto& listeners = served.snapshot->settings.listeners;
  const auto of = std::ranges::find(listeners, listener, &conf::Listener::address);
  if (of == listeners.end()) return problem(400, "Not understood", "listener: none of listeners[].address");
  const auto client = client_text.empty() ? std::optional<Address>(Address()) : Address::parse(client_text);
  if (url.empty() || !client) return problem(400, "Not understood", "url, and of client an address, are needed");
  const filter::CanonicalUrl canonical = canonicaliser_.url(url);
  const UserPtr counts = user_of(*served.snapshot, *of, *client, user, canonical.host);
  GroupMember member;
  if (counts != nullptr) member = {.user = counts->name, .user_groups = counts->groups};
  filter::Asker asker{.client = {}, .user = member.user, .group = {}};
  if (!client_text.empty()) asker.client = filter::address_of(client->octets);
  const filter::Policy* policy = served.policy.get();
  SafeSearch::Found safe_search;
  if (served.groups != nullptr) {
    const std::size_t group = served.snapshot->groups->group_of(*client, listener, member);
    policy = served.groups->of(group).get();
    asker.group = served.snapshot->groups->name(group);
    if (const auto& rules = served.snapshot->safe_search) safe_search = rules->find(group, canonical.host);
  }
  std::vector<const std::byte*> absent;
  const auto verdict = policy->judge_at_once(canonical, absent, asker);
  if (!verdict) return problem(503, "Not known now", "the answer lies on a disk; `bloomwall explain` reads it");
  ordered_json json{{"url", printable(url)},
                    {"canonical", canonical.has_canonical ? ordered_json(canonical.text()) : ordered_json()}};
  add_verdict(json, *verdict);
  json["group"] = null_if_empty(std::string(asker.group));
  json["user"] =
      counts == nullptr ? ordered_json() : ordered_json{{"name", printable(counts->name)}, {"groups", counts->groups}};
  json["at"] = time_text(*at);
  json["dialled_as"] = null_if_empty(std::string(safe_search.dialled));
  json["tunnel"] = nullptr;
  if (canonical.has_canonical && (canonical.scheme == "https" || canonical.scheme == "wss")) {
    ordered_json tunnel = ordered_json::object();
    add_verdict(tunnel, policy->judge_host(canonical, asker));
    json["tunnel"] = std::move(tunnel);
  }
  return json_reply(json);
}

HttpReply StatusApi::reloads() const {
  ordered_json items = ordered_json::array();
  const auto shown = [](const std::vector<std::string>& lines) {
    ordered_json out = ordered_json::array();
    for (const std::string& line : lines) out.push_back(printable(line));
    return out;
  };
  for (const Reload& reload : reloads_) {
    items.push_back({{"at", time_text(reload.at)},
                     {"ok", reload.outcome.ok()},
                     {"lines", shown(reload.outcome.lines)},
                     {"warnings", shown(reload.outcome.warnings)}});
  }
  return list_reply(std::move(items));
}

}  // namespace bloomwall::proxy
