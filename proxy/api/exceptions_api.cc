// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/exceptions_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "base/units.h"
#include "filter/url/host.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/build_review.h"
#include "proxy/api/json_body.h"
#include "proxy/decision/snapshot.h"
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
  if (trim(why).empty() || why.size() > ExceptionItem::kMaxWhy) {
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

// What a person has typed and an entry cannot say, or is wider than it looks; nothing: neither.
std::optional<std::string> what_is_wider(std::string_view typed, const Override& made) {
  const std::size_t scheme = typed.find("://");
  std::string_view rest = scheme == std::string_view::npos ? typed : typed.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos &&
                        colon + 1 < authority.size() &&
                        authority.find_first_not_of("0123456789", colon + 1) == std::string_view::npos &&
                        authority.find(':') == colon;
  const bool has_other_scheme = scheme != std::string_view::npos &&
                                !equals_ignoring_case(typed.substr(0, scheme), "http") &&
                                !equals_ignoring_case(typed.substr(0, scheme), "https");
  if (has_port || has_other_scheme) {
    return fmt::format("{}: holds for every port and scheme of it", printable(made.entry));
  }
  if (filter::is_host_kind(made.kind) && filter::is_public_suffix(made.entry)) {
    return fmt::format("{}: is a public suffix, under which hosts belong to different people; it holds for all of them",
                       printable(made.entry));
  }
  return std::nullopt;
}

std::size_t count_ended(const State& state, std::int64_t now) {
  const auto has_ended = [now](const ExceptionItem& item) { return item.exception.until <= now; };
  const auto is_over = [now](const SwitchItem& item) { return item.made.until <= now; };
  return static_cast<std::size_t>(std::ranges::count_if(state.exceptions, has_ended) +
                                  std::ranges::count_if(state.switches, is_over));
}

// When the newest of what people have made was made, in parts of a second; nothing: there is none.
std::optional<std::int64_t> newest_record(const State& state, std::int64_t second) {
  std::int64_t newest = 0;
  for (const ExceptionItem& item : state.exceptions) newest = std::max(newest, item.created);
  for (const SwitchItem& item : state.switches) newest = std::max(newest, item.created);
  for (const ReportItem& item : *state.reports) newest = std::max({newest, item.last, item.decided});
  for (const Token& token : state.tokens->all()) newest = std::max(newest, token.created);
  return newest == 0 ? std::nullopt : std::optional(newest * second);
}

bool matches(const ExceptionItem& item, std::string_view search) {
  if (search.empty()) return true;
  const Override& made = item.exception;
  for (const std::string_view text :
       {std::string_view(made.entry), std::string_view(item.why), std::string_view(item.who),
        std::string_view(made.user), std::string_view(made.group)}) {
    if (holds_ignoring_case(text, search)) return true;
  }
  const auto holds = [search](const std::string& text) { return holds_ignoring_case(text, search); };
  return std::ranges::any_of(made.filters, holds) || (made.client && holds(client_text(made)));
}

}  // namespace

std::vector<ApiRoute> ExceptionsApi::routes() {
  return {{.method = "GET",
           .path = kListPath,
           .role = Role::reviewer,
           .handler = [this](const ApiRequest& request) { return list(request); }},
          {.method = "POST",
           .path = kListPath,
           .role = Role::reviewer,
           .handler = [this](const ApiRequest& request) { return make(request); },
           .most_body = kMostApiBody},
          {.method = "DELETE", .path = kItemPath, .role = Role::reviewer, .handler = [this](const ApiRequest& request) {
             return remove(request);
           }}};
}

// What is on record says what the clock should be: nothing of it can be newer than now.
std::int64_t ExceptionsApi::believed(std::int64_t now) {
  constexpr std::int64_t kSecond = 1000;
  if (!clock_) clock_.emplace(newest_record(state_.state(), kSecond));
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  const auto monotonic = std::chrono::duration_cast<std::chrono::milliseconds>(steady).count();
  const bool was_held = clock_->is_held();
  const std::int64_t over = clock_->time(now * kSecond, monotonic) / kSecond;
  if (clock_->is_held() && !was_held) {
    log::warning(
        "the clock is ahead of what it should be by more than a day: nothing is removed because its time is "
        "over until that has held for an hour");
  }
  return over;
}

void ExceptionsApi::sweep() {
  const std::int64_t now = std::time(nullptr);
  const State& state = state_.state();
  const std::size_t ended = count_ended(state, now);
  // At once: the disk may be slow to forget them, or may not be written to at all.
  if (ended != std::exchange(ended_, ended)) served_.publish([] {});
  if (is_sweeping_ || !state_.is_usable()) return;
  const std::int64_t over = believed(now);
  const auto is_old = [over](const ReportItem& report) {
    return report.state != ReportItem::State::open && report.decided + ReportItem::kKept <= over;
  };
  const bool is_due = (over == now ? ended : count_ended(state, over)) > 0 || state_.are_exports_stale();
  if (!is_due && std::ranges::none_of(*state.reports, is_old)) return;
  const auto sweep = [over](StateStore& store) {
    auto swept = store.sweep(over);
    store.refresh_exports();
    return swept;
  };
  is_sweeping_ = state_.ask(sweep, [this](const StateResult<std::size_t>& swept) {
    is_sweeping_ = false;
    if (swept && *swept == 0) return;  // reports alone
    if (swept) return served_.publish([] {});
    log::warning("{}: ended exceptions are still stored", swept.error().what);
  });
}

void ExceptionsApi::note_builds(std::vector<StateStore::BuildFinding> findings) {
  if (findings.empty() || !state_.is_usable() || !served_.takes_changes()) return;
  const bool is_asked =
      state_.ask([findings = std::move(findings)](StateStore& store) { return store.note_builds(findings); },
                 [this](const StateResult<std::size_t>& cured) {
                   if (!cured) return log::warning("{}: exceptions until a build stay", cured.error().what);
                   if (*cured == 0) return;
                   log::info("{} exceptions are cured: the filters no longer list their entries", *cured);
                   served_.publish([] {});
                 });
  if (!is_asked) log::warning("exceptions until a build stay until the next reload: too many changes wait");
}

ordered_json ExceptionsApi::shown(const ExceptionItem& item) const {
  ordered_json json = to_json(item);
  if (const std::string fault = review().fault(item.exception); !fault.empty()) json["void"] = fault;
  return json;
}

HttpReply ExceptionsApi::list(const ApiRequest& request) const {
  const auto page = read_page(request.http.head, {.usual = kUsualPage, .most = kMostPage});
  if (!page) return problem(400, "Not understood", page.error());
  const auto cursor = page->cursor.empty() ? std::optional<std::uint64_t>(0) : parse_integer(page->cursor);
  if (!cursor) return problem(400, "Not understood", "cursor: what the page before said is next");
  const State& state = state_.state();
  const std::vector<ExceptionItem>& all = state.exceptions;  // by id
  ordered_json items = ordered_json::array();
  const std::int64_t now = std::time(nullptr);
  const bool is_newest = page->is_newest;
  const std::uint64_t from = *cursor == 0 && is_newest ? ~std::uint64_t{0} : *cursor;
  std::string next;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ExceptionItem& item = is_newest ? all[all.size() - 1 - i] : all[i];
    const std::uint64_t id = item.exception.id;
    if (item.exception.until <= now || (is_newest ? id >= from : id <= from) || !matches(item, page->search)) continue;
    if (items.size() == page->limit) {
      next = std::to_string(items.back().value("id", std::uint64_t{0}));
      break;
    }
    items.push_back(shown(item));
  }
  return with_etag(list_reply(std::move(items), next), etag_of(state, instance(), now));
}

// Ended ones are recognised by their time, before the state forgets them.
std::string ExceptionsApi::etag_of(const State& state, std::uint64_t instance, std::int64_t now) {
  const auto ended =
      std::ranges::count_if(state.exceptions, [now](const ExceptionItem& item) { return item.exception.until <= now; });
  return fmt::format("\"{:016x}-{}-{}\"", instance, state.exceptions_version, ended);
}

HttpReply ExceptionsApi::make(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  auto item = read_item(request.http.body, std::time(nullptr));
  if (!item) return not_taken(item.error());
  if (!request.caller.may_change(item->exception.group)) return foreign_group_problem();
  if (const std::string refusal = review().refusal(item->exception); !refusal.empty()) {
    return problem(409, "The exception would have no effect", refusal);
  }
  if (item->until_build) item->seen = builds_of(item->exception, served_.edition().policy.get());
  const auto body = read_json_body(request.http.body);
  const std::string typed = body ? text_member(*body, "entry").value_or("") : std::string();
  const bool is_asked = state_.ask(
      [item = *std::move(item), author = request.caller.author, instance = instance(),
       over = believed(std::time(nullptr)),
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<ExceptionItem> {
        if (const auto same = check_match(if_match, etag_of(*store.state(), instance, std::time(nullptr))); !same)
          return tl::unexpected(same.error());
        if (store.state()->exceptions.size() >= filter::Overrides::kMost) {
          if (const auto swept = store.sweep(over); !swept) return tl::unexpected(swept.error());
        }
        return store.add_exception(item, author);
      },
      [this, asker = request.http.stream, typed](const StateResult<ExceptionItem>& made) {
        if (!made) return asker.reply(problem_of(made.error()));
        publish(*made, asker, true, typed);
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

HttpReply ExceptionsApi::remove(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  const auto id = parse_integer(request.http.arguments.front());
  if (!id) return problem(404, "No such exception", "GET " + std::string(kListPath) + " shows all");
  const ExceptionItem* const item = state_.state().find(*id);
  // One that is being stored has an id that no client knows yet.
  if (item == nullptr) return problem(404, "No such exception", fmt::format("there is no exception {}", *id));
  if (!request.caller.may_change(item->exception.group)) return foreign_group_problem();
  const bool is_asked = state_.ask(
      [id = *id, author = request.caller.author, instance = instance(),
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<ExceptionItem> {
        if (const auto same = check_match(if_match, etag_of(*store.state(), instance, std::time(nullptr))); !same)
          return tl::unexpected(same.error());
        return store.remove_exception(id, author, "");
      },
      [this, asker = request.http.stream](const StateResult<ExceptionItem>& removed) {
        if (!removed) return asker.reply(problem_of(removed.error()));
        publish(*removed, asker, false, {});
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

std::vector<std::string> ExceptionsApi::warnings_of(const ExceptionItem& item, const std::string& typed) const {
  std::vector<std::string> warnings = review().warnings(item.exception);
  if (auto wider = what_is_wider(typed, item.exception)) warnings.push_back(*std::move(wider));
  if (item.until_build && item.report == 0 && !is_listed(item.exception, served_.edition().policy.get())) {
    warnings.emplace_back(
        "no filter lists it by itself, so the next reload ends it; one that lists a network that it leads to cannot be "
        "asked: give it a time");
  }
  std::ranges::move(state_.warnings(), std::back_inserter(warnings));
  return warnings;
}

// Answered once every worker asks the new ones.
void ExceptionsApi::publish(const ExceptionItem& item, const HttpStream& asker, bool is_new, const std::string& typed) {
  log::info("exception {}: {}", is_new ? "made" : "removed", printable(json_line(to_json(item))));
  served_.publish([this, item, asker, is_new, typed] {
    ordered_json json{{"item", shown(item)}};
    if (is_new) json["warnings"] = warnings_of(item, typed);
    asker.reply(json_reply(json, is_new ? 201 : 200));
  });
}

}  // namespace bloomwall::proxy
