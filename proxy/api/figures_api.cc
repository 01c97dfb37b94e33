// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/figures_api.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/request_json.h"
#include "proxy/api/traffic_service.h"
#include "proxy/io/endpoint.h"
#include "proxy/query_log/day_folder.h"
#include "proxy/state/time_text.h"
#include "proxy/worker/workers.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr unsigned kTicksBetweenTops = 60;
constexpr std::size_t kUsualTops = 20;

std::optional<TrafficSpan> parse_span(std::string_view text) {
  if (text.empty() || text == "1h") return TrafficSpan::hour;
  if (text == "24h") return TrafficSpan::day;
  return std::nullopt;
}
const char* name_of(TrafficSpan span) { return span == TrafficSpan::hour ? "1h" : "24h"; }

HttpReply bad_span() { return problem(400, "Not understood", "span is 1h or 24h"); }

ordered_json null_or(const std::optional<double>& number) { return number ? ordered_json(*number) : ordered_json(); }

ordered_json traffic_json(const TrafficStep& step) {
  return {{"requests", step.requests}, {"blocked", step.blocked}, {"errors", step.errors}};
}

void add_quantiles(ordered_json& json, const TrafficStep& step) {
  json["p50_ms"] = null_or(step.p50_ms);
  json["p99_ms"] = null_or(step.p99_ms);
}

ordered_json step_json(const TrafficStep& step) {
  ordered_json json{{"at", time_text(step.at)}, {"seconds", std::llround(step.seconds)}};
  json.update(traffic_json(step));
  json["bytes_sent"] = step.bytes_sent;
  json["bytes_received"] = step.bytes_received;
  add_quantiles(json, step);
  json["tunnels"] = step.tunnels;
  json["in_flight"] = step.in_flight;
  return json;
}

ordered_json rows_json(const TopNames& names, std::size_t limit) {
  ordered_json rows = ordered_json::array();
  for (const TopNames::Row& row : names.rows(limit)) {
    rows.push_back({{"name", null_or_text(row.name)}, {"blocked", row.count}, {"error", row.error}});
  }
  return rows;
}

}  // namespace

FiguresApi::FiguresApi(EventLoop& loop, const ClientMask& mask, const Served& served, Now now)
    : loop_(loop), mask_(mask), served_(served), now_(now), began_(now_() / 1000), tops_(began_), seen_since_(began_) {}

std::vector<ApiRoute> FiguresApi::routes() {
  const auto get = [](std::string_view path, std::function<HttpReply(const ApiRequest&)> handler) {
    return ApiRoute{.method = "GET", .path = path, .role = Role::viewer, .handler = std::move(handler)};
  };
  return {get("/api/v1/counters", [this](const ApiRequest&) { return counters(); }),
          get("/api/v1/history", [this](const ApiRequest& request) { return history(request); }),
          get("/api/v1/tops", [this](const ApiRequest& request) { return tops(request); }),
          {.method = "GET",
           .path = "/api/v1/clients",
           .role = Role::maintainer,
           .handler = [this](const ApiRequest& request) { return clients(request); }}};
}

void FiguresApi::tick() {
  sample();
  if (++ticks_ % kTicksBetweenTops == 0) collect({});
}

FiguresApi::Sampled FiguresApi::sample() {
  Counters sum;
  const Workers* const workers = served_.workers();
  if (workers != nullptr) workers->add_counters_to(sum);
  Sampled now{.sample = {.at = now_(),
                         .totals = totals_of(sum),
                         .tunnels = sum.tunnels_active.get(),
                         .in_flight = workers == nullptr ? 0 : workers->gauges().requests_in_flight},
              .connections = sum.client_connections_active.get()};
  history_.take(now.sample);
  return now;
}

HttpReply FiguresApi::counters() {
  const Sampled now = sample();
  const TrafficTotals& totals = now.sample.totals;
  const TrafficStep recent = history_.recent();
  ordered_json last{{"seconds", recent.seconds}};
  last.update(traffic_json(recent));
  add_quantiles(last, recent);
  return json_reply({{"at", instant_text(now.sample.at)},
                     {"started", time_text(began_)},
                     {"requests", totals.requests},
                     {"blocked", totals.blocked},
                     {"errors", totals.errors},
                     {"bytes_sent", totals.bytes_sent},
                     {"bytes_received", totals.bytes_received},
                     {"connections", now.connections},
                     {"tunnels", now.sample.tunnels},
                     {"in_flight", now.sample.in_flight},
                     {"now", std::move(last)}});
}

HttpReply FiguresApi::history(const ApiRequest& request) {
  const auto span = parse_span(query_argument(request.http.head, "span"));
  if (!span) return bad_span();
  sample();
  ordered_json items = ordered_json::array();
  for (const TrafficStep& step : history_.steps(*span)) items.push_back(step_json(step));
  return json_reply({{"span", name_of(*span)},
                     {"step_seconds", step_seconds(*span)},
                     {"items", std::move(items)},
                     {"next", nullptr}});
}

HttpReply FiguresApi::tops(const ApiRequest& request) {
  const auto span = parse_span(query_argument(request.http.head, "span"));
  if (!span) return bad_span();
  std::size_t limit = kUsualTops;
  if (const std::string text = query_argument(request.http.head, "limit"); !text.empty()) {
    const auto number = parse_integer(text);
    if (!number || *number < 1 || *number > TopNames::kMost) {
      return problem(400, "Not understood", "limit is a number from 1 to 1000");
    }
    limit = static_cast<std::size_t>(*number);
  }
  const bool shows_clients = request.caller.role >= Role::maintainer;
  const bool is_asked = collect([this, asker = request.http.stream, span, limit, shows_clients] {
    asker.reply(tops_reply(*span, limit, shows_clients));
  });
  if (is_asked) return {.is_later = true};
  return problem(503, "Nobody can be asked", "bloomwall is starting or stopping");
}

HttpReply FiguresApi::tops_reply(TrafficSpan span, std::size_t limit, bool shows_clients) const {
  const TopHistory::Window window = tops_.window(span, now_() / 1000);
  return json_reply({{"span", name_of(span)},
                     {"since", time_text(window.since)},
                     {"hosts", rows_json(window.tops.hosts, limit)},
                     {"filters", rows_json(window.tops.filters, limit)},
                     {"groups", rows_json(window.tops.groups, limit)},
                     {"clients", shows_clients ? rows_json(window.tops.clients, limit) : ordered_json()}});
}

bool FiguresApi::collect(std::function<void()> then) {
  if (served_.phase() != Phase::serving) return false;
  served_.workers()->collect_sums([this, then = std::move(then)](FeedSums sums) {
    loop_.post([this, then, sums = std::move(sums)] {
      take(sums);
      if (then) then();
    });
  });
  return true;
}

// Under the names that may be kept of clients and users.
void FiguresApi::take(const FeedSums& sums) {
  const std::int64_t today = day_of(now_()).time_since_epoch().count();
  BlockedTops tops = sums.tops;
  tops.clients = {};
  for (const TopNames::Row& row : sums.tops.clients.rows()) {
    tops.clients.count(mask_.client(row.name, clients_, today), row.count, row.error);
  }
  tops_.add(tops, now_() / 1000);
  ClientsSeen seen;
  for (ClientsSeen::Row& row : sums.clients.rows()) {
    row.client = mask_.client(row.client, clients_, today);
    row.user = mask_.user(row.user, clients_, today);
    seen.add(std::move(row));
  }
  seen_.add(seen);
}

void FiguresApi::use(const conf::Config& settings) {
  if (settings.query_log.clients != clients_) {
    seen_.clear();
    seen_since_ = now_() / 1000;
  }
  clients_ = settings.query_log.clients;
  counted_groups_.clear();
  for (const conf::Group& group : settings.groups) {
    if (group.log == conf::Group::Log::counted) counted_groups_.push_back(group.name);
  }
  devices_.clear();
  for (const conf::Device& device : settings.devices) {
    for (const std::string& address : device.addresses) {
      const auto parsed = Endpoint::parse_ip(address);  // as clients have it, however it is written
      if (parsed) devices_.emplace(parsed->unmapped().ip(), device);
    }
  }
}

HttpReply FiguresApi::clients(const ApiRequest& request) {
  const bool is_asked = collect([this, asker = request.http.stream] { asker.reply(clients_reply()); });
  if (is_asked) return {.is_later = true};
  return problem(503, "Nobody can be asked", "bloomwall is starting or stopping");
}

HttpReply FiguresApi::clients_reply() const {
  ordered_json items = ordered_json::array();
  for (const ClientsSeen::Row& row : seen_.rows()) {
    if (std::ranges::find(counted_groups_, row.group) != counted_groups_.end()) continue;
    const auto device = clients_ == conf::QueryLog::Clients::full ? devices_.find(row.client) : devices_.end();
    const bool is_known = device != devices_.end();
    items.push_back(
        {{"client", null_or_text(row.client)},
         {"device", is_known ? null_or_text(device->second.name) : ordered_json()},
         {"device_group", is_known && device->second.group ? null_or_text(*device->second.group) : ordered_json()},
         {"user", null_or_text(row.user)},
         {"group", null_or_text(row.group)},
         {"requests", row.requests},
         {"blocked", row.blocked},
         {"first", time_text(row.first)},
         {"last", time_text(row.last)}});
  }
  return json_reply({{"since", time_text(seen_since_)},
                     {"clients", to_string(clients_)},
                     {"items", std::move(items)},
                     {"next", nullptr}});
}

}  // namespace bloomwall::proxy
