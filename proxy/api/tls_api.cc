// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/tls_api.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/units.h"
#include "proxy/worker/workers.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;
using Row = TlsRefusals::Row;

constexpr std::string_view kRefusedPath = "/api/v1/tls/refused", kRefusedType = "application/json";

auto place_of(const Row& row) { return std::tie(row.client.octets, row.host); }

// One row for what several workers have seen: the first time; a client that accepts anything pins.
void merge(TlsApi::Rows& rows) {
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    return std::tie(a.client.octets, a.host, a.since) < std::tie(b.client.octets, b.host, b.since);
  });
  TlsApi::Rows once;
  for (Row& row : rows) {
    if (once.empty() || place_of(once.back()) != place_of(row)) {
      once.push_back(std::move(row));
    } else if (row.kind == TlsRefusals::Kind::pins) {
      once.back().kind = row.kind;
    }
  }
  rows = std::move(once);
}

}  // namespace

std::string refusals_json(TlsApi::Rows rows, TlsRefusals::Time now, std::chrono::system_clock::time_point wall) {
  merge(rows);
  ordered_json json{{"items", ordered_json::array()}, {"next", nullptr}};
  for (const Row& row : rows) {
    const auto since = wall - std::chrono::duration_cast<std::chrono::system_clock::duration>(now - row.since);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since).time_since_epoch().count();
    json["items"].push_back({{"client", row.client.text()},
                             {"host", row.host},
                             {"how", to_string(row.kind)},
                             {"signal", to_string(row.signal)},
                             {"since", format_time(static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)))}});
  }
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

HttpRoute TlsApi::route() {
  return {.method = "GET", .path = kRefusedPath, .handler = [this](const HttpRequest& request) {
            return refused(request.stream);
          }};
}

HttpReply TlsApi::refused(const HttpStream& asker) {
  if (served_.phase() != Phase::serving) {
    return {
        .status = 503,
        .type = "application/problem+json",
        .body =
            "{\"title\":\"Nobody can be asked\",\"status\":503,\"detail\":\"bloomwall is starting or stopping\"}\n"};
  }
  served_.workers()->collect_refusals([this, asker](Rows rows) {
    loop_.post([asker, rows = std::move(rows)] {
      asker.write(refusals_json(rows, TlsRefusals::Clock::now(), std::chrono::system_clock::now()));
      asker.end();
    });
  });
  return {.type = kRefusedType, .goes_on = true};
}

}  // namespace bloomwall::proxy
