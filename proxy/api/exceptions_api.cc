// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/exceptions_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/units.h"
#include "filter/cli/terminal.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/json_body.h"
#include "proxy/log/log.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using nlohmann::ordered_json;

constexpr std::string_view kListPath = "/api/v1/exceptions", kItemPath = "/api/v1/exceptions/{id}";
constexpr std::int64_t kUsualSeconds = std::int64_t{24} * 3600;
constexpr std::array<std::string_view, 9> kMembers{"action", "entry",  "filters", "until", "until_build",
                                                   "why",    "client", "user",    "group"};

HttpReply not_taken(std::string_view detail) { return problem(400, "The exception cannot be taken", detail); }

// What a client says of a new one; errors as for people.
tl::expected<ExceptionItem, std::string> read_item(std::string_view body, std::int64_t now) {
  const auto refuse = [](std::string what) { return tl::unexpected(std::move(what)); };
  auto object = read_json_body(body);
  if (!object) return refuse(object.error());
  ordered_json& json = *object;
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(kMembers, name) != kMembers.end()) continue;
    return refuse(fmt::format(
        "{}: no such member; there are action, entry, filters, client, user, group, until, until_build and why", name));
  }
  const std::string entry = text_member(json, "entry").value_or(""), why = text_member(json, "why").value_or("");
  if (entry.empty() || entry.size() > ExceptionItem::kMaxEntry) {
    return refuse(fmt::format("entry: a text of 1 to {} octets is needed", ExceptionItem::kMaxEntry));
  }
  if (why.empty() || why.size() > ExceptionItem::kMaxWhy) {
    return refuse(fmt::format("why: a text of 1 to {} octets is needed", ExceptionItem::kMaxWhy));
  }
  Override made;
  made.action = text_member(json, "action") == "deny" ? Override::Action::deny : Override::Action::allow;
  if (const auto read = filter::read_override(entry, made); !read) return refuse("entry: " + read.error().what);
  json["id"] = 0U;
  json["kind"] = std::string(1, static_cast<char>(made.kind));
  json["entry"] = made.entry;
  json["created"] = time_text(now);
  const bool until_build = json.value("until_build", ordered_json()) == true;
  if (until_build && made.action == Override::Action::deny) return refuse("until_build: goes with an allow only");
  const ordered_json usual = until_build ? ordered_json() : ordered_json(time_text(now + kUsualSeconds));
  if (!json.contains("until")) json["until"] = usual;
  auto item = exception_from(json);
  if (!item) return refuse(item.error());
  if (!std::ranges::all_of(item->exception.filters, is_filter_name)) {
    return refuse("filters: names of 1 to 64 of A-Z a-z 0-9 . _ - are needed");
  }
  if (item->exception.until <= now) return refuse("until: has passed already");
  return item;
}

}  // namespace

std::vector<ApiRoute> ExceptionsApi::routes() {
  return {{.method = "GET",
           .path = kListPath,
           .role = Role::reviewer,
           .handler = [this](const ApiRequest&) { return list(); }},
          {.method = "POST",
           .path = kListPath,
           .role = Role::reviewer,
           .handler = [this](const ApiRequest& request) { return make(request); },
           .most_body = kMostApiBody},
          {.method = "DELETE", .path = kItemPath, .role = Role::reviewer, .handler = [this](const ApiRequest& request) {
             return remove(request);
           }}};
}

void ExceptionsApi::sweep() {
  const std::int64_t now = std::time(nullptr);
  const auto has_ended = [now](const ExceptionItem& item) { return item.exception.until <= now; };
  const auto is_over = [now](const SwitchItem& item) { return item.made.until <= now; };
  const State& state = state_.state();
  const auto ended = static_cast<std::size_t>(std::ranges::count_if(state.exceptions, has_ended) +
                                              std::ranges::count_if(state.switches, is_over));
  // At once: the disk may be slow to forget them, or may not be written to at all.
  if (ended > std::exchange(ended_, ended)) daemon_.publish([] {});
  if (is_sweeping_ || !state_.is_usable()) return;
  const auto is_old = [now](const ReportItem& report) {
    return report.state != ReportItem::State::open && report.decided + ReportItem::kKept <= now;
  };
  if (ended == 0 && !state_.are_exports_stale() && std::ranges::none_of(*state.reports, is_old)) return;
  const auto sweep = [now](StateStore& store) {
    auto swept = store.sweep(now);
    store.refresh_exports();
    return swept;
  };
  is_sweeping_ = state_.ask(sweep, [this](const StateResult<std::size_t>& swept) {
    is_sweeping_ = false;
    if (swept && *swept == 0) return;  // reports alone
    if (swept) return daemon_.publish([] {});
    log::warning("{}: ended exceptions are still stored", swept.error().what);
  });
}

void ExceptionsApi::note_builds(std::vector<StateStore::BuildFinding> findings) {
  if (findings.empty() || !state_.is_usable() || daemon_.is_ending()) return;
  const bool is_asked =
      state_.ask([findings = std::move(findings)](StateStore& store) { return store.note_builds(findings); },
                 [this](const StateResult<std::size_t>& cured) {
                   if (!cured) return log::warning("{}: exceptions until a build stay", cured.error().what);
                   if (*cured == 0) return;
                   log::info("{} exceptions are cured: the filters no longer list their entries", *cured);
                   daemon_.publish([] {});
                 });
  if (!is_asked) log::warning("exceptions until a build stay until the next reload: too many changes wait");
}

HttpReply ExceptionsApi::list() const {
  const State& state = state_.state();
  ordered_json items = ordered_json::array();
  const std::int64_t now = std::time(nullptr);
  for (const ExceptionItem& item : state.exceptions) {
    if (item.exception.until > now) items.push_back(to_json(item));
  }
  return with_etag(list_reply(std::move(items)), etag_of(state, instance_, now));
}

// Ended ones are recognised by their time, before the state forgets them.
std::string ExceptionsApi::etag_of(const State& state, std::uint64_t instance, std::int64_t now) {
  const auto ended =
      std::ranges::count_if(state.exceptions, [now](const ExceptionItem& item) { return item.exception.until <= now; });
  return fmt::format("\"{:016x}-{}-{}\"", instance, state.exceptions_version, ended);
}

HttpReply ExceptionsApi::make(const ApiRequest& request) {
  if (daemon_.is_ending()) return ending_problem();
  auto item = read_item(request.http.body, std::time(nullptr));
  if (!item) return not_taken(item.error());
  if (!request.caller.may_change(item->exception.group)) return foreign_group_problem();
  if (const std::string refusal = daemon_.refusal(item->exception); !refusal.empty()) {
    return problem(409, "The exception would have no effect", refusal);
  }
  if (item->until_build) item->seen = daemon_.builds(item->exception);
  const bool is_asked = state_.ask(
      [item = *std::move(item), author = request.caller.author, instance = instance_,
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<ExceptionItem> {
        if (const auto same = check_match(if_match, etag_of(*store.state(), instance, std::time(nullptr))); !same)
          return tl::unexpected(same.error());
        if (store.state()->exceptions.size() >= filter::Overrides::kMost) {
          if (const auto swept = store.sweep(std::time(nullptr)); !swept) return tl::unexpected(swept.error());
        }
        return store.add_exception(item, author);
      },
      [this, asker = request.http.stream](const StateResult<ExceptionItem>& made) {
        if (!made) return asker.reply(problem_of(made.error()));
        publish(*made, asker, true);
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

HttpReply ExceptionsApi::remove(const ApiRequest& request) {
  if (daemon_.is_ending()) return ending_problem();
  const auto id = parse_integer(request.http.arguments.front());
  if (!id) return problem(404, "No such exception", "GET " + std::string(kListPath) + " shows all");
  const ExceptionItem* const item = state_.state().find(*id);
  // One that is being stored has an id that no client knows yet.
  if (item == nullptr) return problem(404, "No such exception", fmt::format("there is no exception {}", *id));
  if (!request.caller.may_change(item->exception.group)) return foreign_group_problem();
  const bool is_asked = state_.ask(
      [id = *id, author = request.caller.author, instance = instance_,
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<ExceptionItem> {
        if (const auto same = check_match(if_match, etag_of(*store.state(), instance, std::time(nullptr))); !same)
          return tl::unexpected(same.error());
        return store.remove_exception(id, author, "");
      },
      [this, asker = request.http.stream](const StateResult<ExceptionItem>& removed) {
        if (!removed) return asker.reply(problem_of(removed.error()));
        publish(*removed, asker, false);
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

std::vector<std::string> ExceptionsApi::warnings_of(const ExceptionItem& item) const {
  std::vector<std::string> warnings = daemon_.warnings(item.exception);
  if (item.until_build && item.report == 0 && !daemon_.is_listed(item.exception)) {
    warnings.emplace_back(
        "no filter lists it by itself, so the next reload ends it; one that lists a network that it leads to cannot be "
        "asked: give it a time");
  }
  std::ranges::move(state_.warnings(), std::back_inserter(warnings));
  return warnings;
}

// Answered once every worker asks the new ones.
void ExceptionsApi::publish(const ExceptionItem& item, const HttpStream& asker, bool is_new) {
  log::info("exception {}: {}", is_new ? "made" : "removed", filter::printable(json_line(to_json(item))));
  daemon_.publish([this, item, asker, is_new] {
    ordered_json json{{"item", to_json(item)}};
    if (is_new) json["warnings"] = warnings_of(item);
    asker.reply(json_reply(json, is_new ? 201 : 200));
  });
}

}  // namespace bloomwall::proxy
