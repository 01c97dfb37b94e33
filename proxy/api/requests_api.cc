// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/requests_api.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/encoding.h"
#include "base/terminal.h"
#include "base/text.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/request_json.h"
#include "proxy/query_log/client_mask.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

HttpReply page_reply(const RequestPage& page) {
  ordered_json items = ordered_json::array(), unreadable = ordered_json::array();
  for (const RequestRow& row : page.rows) items.push_back(request_json(row));
  for (const std::string& name : page.unreadable) unreadable.push_back(printable(name));
  return json_reply({{"items", std::move(items)},
                     {"next", page.next ? ordered_json(cursor_text(*page.next)) : ordered_json()},
                     {"looked_to", page.looked_to ? ordered_json(instant_text(*page.looked_to)) : ordered_json()},
                     {"complete", !page.next},
                     {"unreadable", std::move(unreadable)}});
}

}  // namespace

tl::expected<RequestQuery, std::string> query_of(const RequestHead& head) {
  const auto argument = [&](std::string_view name) { return query_argument(head, name); };
  RequestQuery query{.host = argument("host"),
                     .path = argument("path"),
                     .client = argument("client"),
                     .user = argument("user"),
                     .filter = argument("filter"),
                     .group = argument("group"),
                     .id = argument("id")};
  make_lower(query.host);
  if (const std::string text = argument("decision"); !text.empty()) {
    query.decision = parse_row_decision(text);
    if (!query.decision) {
      return tl::unexpected(std::string("decision is allowed, monitored, blocked, rejected or refused"));
    }
  }
  if (const std::string text = argument("since"); !text.empty()) {
    const auto since = parse_time(text);
    if (!since) return tl::unexpected(std::string("since is a time such as 2026-01-31T12:00:00Z"));
    query.since = *since * 1000;
  }
  if (const std::string text = argument("cursor"); !text.empty()) {
    query.cursor = parse_cursor(text);
    if (!query.cursor) return tl::unexpected(std::string("cursor is what the page before said is next"));
  }
  return query;
}

tl::expected<void, std::string> mask_question(RequestQuery& query, conf::QueryLog::Clients clients) {
  using Clients = conf::QueryLog::Clients;
  const auto is_pseudonym = [](std::string_view text) { return text.size() == 16 && is_lower_hex(text); };
  const auto refuse = [](const char* why) { return tl::unexpected(std::string(why)); };
  switch (clients) {
    case Clients::full:
      break;
    case Clients::network:
      if (!query.user.empty()) return refuse("user: query_log.clients is network, which stores no users");
      query.masked_client = network_of_address(query.client);
      break;
    case Clients::keyed:
      if (!query.client.empty() && !is_pseudonym(query.client)) {
        return refuse(
            "client: query_log.clients is keyed: ask for a pseudonym of 16 hexadecimal digits, as rows have it");
      }
      if (!query.user.empty() && !is_pseudonym(query.user)) {
        return refuse(
            "user: query_log.clients is keyed: ask for a pseudonym of 16 hexadecimal digits, as rows have it");
      }
      break;
    case Clients::none:
      if (!query.client.empty()) return refuse("client: query_log.clients is none, which stores no clients");
      if (!query.user.empty()) return refuse("user: query_log.clients is none, which stores no users");
      break;
  }
  return {};
}

ApiRoute RequestsApi::route() {
  return {.method = "GET",
          .path = "/api/v1/requests",
          .role = Role::maintainer,
          .handler = [this](const ApiRequest& request) { return answer(request); }};
}

HttpReply RequestsApi::answer(const ApiRequest& request) {
  auto query = query_of(request.http.head);
  if (!query) return problem(400, "Not understood", query.error());
  if (const auto masked = mask_question(*query, clients_); !masked) {
    return problem(400, "Not stored", masked.error());
  }
  if (folder_.empty()) return problem(503, "Nothing is recorded", "query_log.folder and state_dir are null");
  const bool is_asked = thread_.post(
      [this, asker = request.http.stream, folder = folder_, query = *std::move(query)](const std::stop_token& stop) {
        const SearchLimits limits{.stop = [&stop] { return stop.stop_requested(); }};
        loop_.post([asker, reply = page_reply(search_requests(folder, query, limits))] { asker.reply(reply); });
      });
  if (is_asked) return {.is_later = true};
  return problem(503, "Not now", "too many searches wait already");
}

}  // namespace bloomwall::proxy
