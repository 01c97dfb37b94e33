// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/lists_api.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "filter/cli/terminal.h"
#include "filter/file/temp_file.h"
#include "proxy/log/log.h"
#include "proxy/ops/api_reply.h"
#include "proxy/ops/lists_json.h"
#include "proxy/update/update_run.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

HttpReply none_served() { return problem(503, "Nothing is served", "bloomwall is starting or stopping"); }
HttpReply unknown_filter() { return problem(404, "No such filter", "no filter of this name is made of lists"); }

// Nothing: it is not such a body.
std::optional<UpdateWish> wish_of(const std::string& body) {
  const auto json = body.empty() ? ordered_json::object() : ordered_json::parse(body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  UpdateWish wish;
  for (const auto& [key, value] : json.items()) {
    if (key == "force" && value.is_boolean()) {
      wish.force = value.get<bool>();
    } else if (key == "filters" && value.is_array()) {
      for (const auto& name : value) {
        if (!name.is_string()) return std::nullopt;
        wish.names.push_back(name.get<std::string>());
      }
    } else {
      return std::nullopt;
    }
  }
  return wish;
}

}  // namespace

std::vector<ApiRoute> ListsApi::routes() {
  return {{.method = "GET",
           .path = "/api/v1/lists",
           .role = Role::maintainer,
           .handler = [this](const ApiRequest&) { return all(); }},
          {.method = "GET",
           .path = "/api/v1/lists/{name}",
           .role = Role::maintainer,
           .handler = [this](const ApiRequest& request) { return one(request); }},
          {.method = "POST",
           .path = "/api/v1/update",
           .role = Role::maintainer,
           .handler = [this](const ApiRequest& request) { return wish(request); },
           .most_body = kMostApiBody}};
}

const ListsState& ListsApi::state(const conf::Config& settings) {
  const auto stamp = filter::stamp_of(settings.update.folder / kListsFile);
  if (stamp == stamp_) return state_;
  stamp_ = stamp;
  auto state = read_lists_state(settings.update.folder);
  if (!state) log::warning("{}", state.error());
  state_ = state ? *std::move(state) : ListsState{};
  return state_;
}

HttpReply ListsApi::all() {
  const SnapshotPtr served = served_();
  if (served == nullptr) return none_served();
  return list_reply(lists_json(served->settings, state(served->settings), std::time(nullptr)));
}

HttpReply ListsApi::one(const ApiRequest& request) {
  const SnapshotPtr served = served_();
  if (served == nullptr) return none_served();
  for (const auto& item : lists_json(served->settings, state(served->settings), std::time(nullptr))) {
    if (item["filter"] == request.http.arguments.front()) return json_reply(item);
  }
  return unknown_filter();
}

HttpReply ListsApi::wish(const ApiRequest& request) {
  const SnapshotPtr served = served_();
  if (served == nullptr) return none_served();
  auto wish = wish_of(std::string(request.http.body));
  if (!wish) return problem(400, "Not understood", "the body is {\"filters\":[names],\"force\":false}, or empty");
  const auto& filters = served->settings.filters;
  const auto has_lists = [](const conf::Filter& filter) { return !filter.sources.empty(); };
  if (std::ranges::none_of(filters, has_lists)) return problem(409, "Nothing to update", "no filter is made of lists");
  for (const std::string& name : wish->names) {
    const auto at = std::ranges::find(filters, name, &conf::Filter::name);
    if (at == filters.end() || !has_lists(*at)) return unknown_filter();
  }
  wish->who = request.caller.author.who + " (" + request.caller.author.via + ")";
  if (const auto left = leave_wish(served->settings.update.folder, *wish); !left) {
    log::warning("{}", left.error());
    return problem(500, "Could not be kept", left.error());
  }
  log::info("lists: {} asks for an update{}", wish->who, wish->force ? " that overrules guards" : "");
  return json_reply({{"filters", wish->names}, {"force", wish->force}}, 202);
}

}  // namespace bloomwall::proxy
