// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/status_api.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/terminal.h"
#include "proxy/api/api_reply.h"
#include "proxy/decision/snapshot.h"
#include "proxy/reload/loading.h"
#include "proxy/reload/refusal_reason.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

// Why its last good files are served; null: its own are.
ordered_json fallback_of(const filter::Policy::FilterState& state) {
  if (state.refused.empty()) return nullptr;
  ordered_json why = ordered_json::array();
  for (const filter::Error& error : state.refused) why.push_back(printable(error.text()));
  return {{"why", std::move(why)}};
}

ordered_json described(const filter::Policy::FilterState& state, std::uint64_t generation) {
  const filter::Header& header = state.file->header();
  const filter::Policy::RequestError predicted = state.predicted_error();
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
          {"fallback", fallback_of(state)},
          {"rebuild_due", state.rebuild_due()},
          {"predicted_error", {{"unlisted_host", predicted.unlisted_host}, {"listed_host", predicted.listed_host}}},
          {"age_seconds", std::max<std::int64_t>(age, 0)},
          {"generation", generation}};
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
  const Edition& served = served_.edition();
  const TrafficService::Status traffic = process_.traffic.status();
  const ConfigurationOnDisk& on_disk = process_.on_disk;
  ordered_json since_start = ordered_json::object();
  for (const auto& [key, value] : process_.since_start) since_start[key] = printable(value);
  return json_reply(
      {{"version", BLOOMWALL_VERSION},
       {"pid", ::getpid()},
       {"phase", to_string(served_.phase())},
       {"generation", served.snapshot == nullptr ? 0 : served.snapshot->generation},
       {"configuration", printable(process_.configuration)},
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
         {"bytes", traffic.figures.bytes}}},
       {"on_disk",
        {{"differs", on_disk.differs},
         {"refused", on_disk.refused.empty() ? ordered_json() : ordered_json(printable(on_disk.refused))}}},
       {"fallbacks", served.policy == nullptr ? std::string() : names_of_fallbacks(*served.policy)},
       {"since_start", std::move(since_start)}});
}

HttpReply StatusApi::filters() const {
  const Edition& served = served_.edition();
  if (served.policy == nullptr) return not_serving();
  ordered_json items = ordered_json::array();
  for (const auto& state : served.policy->filters()) items.push_back(described(state, served.snapshot->generation));
  return list_reply(std::move(items));
}

HttpReply StatusApi::filter(const ApiRequest& request) const {
  const Edition& served = served_.edition();
  if (served.policy == nullptr) return not_serving();
  for (const auto& state : served.policy->filters()) {
    if (state.spec.name == request.http.arguments.front())
      return json_reply(described(state, served.snapshot->generation));
  }
  return problem(404, "No such filter", "GET /api/v1/filters shows all");
}

HttpReply StatusApi::reloads() const {
  ordered_json items = ordered_json::array();
  const auto shown = [](const std::vector<std::string>& lines) {
    ordered_json out = ordered_json::array();
    for (const std::string& line : lines) out.push_back(printable(line));
    return out;
  };
  for (const Reload& reload : reloads_) {
    ordered_json reasons = ordered_json::array();
    for (const RefusalReason reason : reload.outcome.reasons) reasons.push_back(kRefusalReasonNames.text(reason));
    items.push_back({{"at", time_text(reload.at)},
                     {"ok", reload.outcome.ok()},
                     {"reasons", std::move(reasons)},
                     {"lines", shown(reload.outcome.lines)},
                     {"warnings", shown(reload.outcome.warnings)},
                     {"alarms", shown(reload.outcome.alarms)}});
  }
  return list_reply(std::move(items));
}

}  // namespace bloomwall::proxy
