// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/lists_api.h"

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "filter/file/temp_file.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/json_body.h"
#include "proxy/check/lists_json.h"
#include "proxy/decision/snapshot.h"
#include "proxy/log/log.h"
#include "proxy/update/intermediates_update.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

HttpReply none_served() { return problem(503, "Nothing is served", "bloomwall is starting or stopping"); }
HttpReply unknown_filter() { return problem(404, "No such filter", "no filter of this name is made of lists"); }

HttpReply no_reason() {
  return problem(400, "Not understood", "why: what overrules guards needs a reason, for the audit");
}

constexpr std::size_t kLongestWhy = 500;  // octets

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
           .most_body = kMostApiBody},
          {.method = "POST",
           .path = "/api/v1/update/forced",
           .role = Role::maintainer,
           .handler = [this](const ApiRequest& request) { return force(request); },
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
  const SnapshotPtr served = served_.snapshot();
  if (served == nullptr) return none_served();
  const conf::Config& settings = served->settings;
  const ListsState& known = state(settings);
  return json_reply({{"items", lists_json(settings, known, std::time(nullptr))},
                     {"next", nullptr},
                     {"intermediates", intermediates_json(settings, known)}});
}

HttpReply ListsApi::one(const ApiRequest& request) {
  const SnapshotPtr served = served_.snapshot();
  if (served == nullptr) return none_served();
  for (const auto& item : lists_json(served->settings, state(served->settings), std::time(nullptr))) {
    if (item["filter"] == request.http.arguments.front()) return json_reply(item);
  }
  return unknown_filter();
}

tl::expected<ListsApi::Asked, HttpReply> ListsApi::understand(const ApiRequest& request) const {
  const SnapshotPtr served = served_.snapshot();
  if (served == nullptr) return tl::unexpected(none_served());
  const std::string_view body = request.http.body;
  const auto json = body.empty() ? ordered_json::object() : read_json_body(body).value_or(ordered_json());
  const auto no_body = [] {
    return tl::unexpected(
        problem(400, "Not understood", "the body is {\"filters\":[names],\"force\":false,\"why\":\"...\"}, or empty"));
  };
  if (!json.is_object()) return no_body();
  Asked asked;
  for (const auto& [key, value] : json.items()) {
    if (key == "force" && value.is_boolean()) {
      asked.wish.force = value.get<bool>();
    } else if (key == "why" && value.is_string()) {
      asked.why = value.get<std::string>();
      if (asked.why.size() > kLongestWhy) return no_body();
    } else if (key == "filters" && value.is_array()) {
      for (const auto& name : value) {
        if (!name.is_string()) return no_body();
        asked.wish.names.push_back(name.get<std::string>());
      }
    } else {
      return no_body();
    }
  }
  const auto& filters = served->settings.filters;
  const auto has_lists = [](const conf::Filter& filter) { return !filter.sources.empty(); };
  const bool is_for_all = asked.wish.names.empty() && wants_intermediates(served->settings);
  if (!is_for_all && std::ranges::none_of(filters, has_lists)) {
    return tl::unexpected(problem(409, "Nothing to update", "no filter is made of lists"));
  }
  for (const std::string& name : asked.wish.names) {
    const auto at = std::ranges::find(filters, name, &conf::Filter::name);
    if (at == filters.end() || !has_lists(*at)) return tl::unexpected(unknown_filter());
  }
  asked.wish.who = request.caller.author.who + " (" + request.caller.author.via + ")";
  return asked;
}

HttpReply ListsApi::wish(const ApiRequest& request) {
  const auto asked = understand(request);
  if (!asked) return asked.error();
  if (asked->wish.force && trim(asked->why).empty()) return no_reason();
  return note(request, *asked, served_.snapshot()->settings.update.folder, [wish = asked->wish] {
    log::info("lists: {} asks for an update{}", wish.who, wish.force ? " that overrules guards" : "");
    return json_reply({{"filters", wish.names}, {"force", wish.force}}, 202);
  });
}

HttpReply ListsApi::force(const ApiRequest& request) {
  auto asked = understand(request);
  if (!asked) return asked.error();
  asked->wish.force = true;
  if (trim(asked->why).empty()) return no_reason();
  return note(request, *asked, {}, [wish = asked->wish] {
    log::info("lists: {} makes an update that overrules guards", wish.who);
    return json_reply({{"filters", wish.names}, {"force", true}}, 201);
  });
}

// On the state's thread: the disk may be slow, and another program may hold the folder's lock.
HttpReply ListsApi::note(const ApiRequest& request, const Asked& asked, const std::filesystem::path& folder,
                         std::function<HttpReply()> then) {
  const bool is_asked = kept_.ask(
      [asked, folder, author = request.caller.author](StateStore& store) -> StateResult<void> {
        if (asked.wish.force) {
          if (auto noted = store.note_forced_update(asked.wish.names, author, asked.why); !noted) return noted;
        }
        if (folder.empty()) return {};
        const auto left = leave_wish(folder, asked.wish);
        return left ? StateResult<void>() : tl::unexpected(StateError{StateError::Kind::failed, left.error()});
      },
      [asker = request.http.stream, then = std::move(then)](const StateResult<void>& noted) {
        if (noted) return asker.reply(then());
        log::warning("lists: {}", noted.error().what);
        asker.reply(problem_of(noted.error()));
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

}  // namespace bloomwall::proxy
