// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/state_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/encoding.h"
#include "base/random.h"
#include "base/units.h"
#include "proxy/api/api_reply.h"
#include "proxy/api/json_body.h"
#include "proxy/decision/snapshot.h"
#include "proxy/explain/name_review.h"
#include "proxy/log/log.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTokensPath = "/api/v1/tokens", kTokenPath = "/api/v1/tokens/{name}";
constexpr std::string_view kAuditPath = "/api/v1/audit";

struct NewToken {
  std::string text;
  Token token;
};

// What a client says of a new one, which gets its bits here.
tl::expected<NewToken, std::string> read_token(std::string_view body, std::int64_t now) {
  auto object = read_json_body(body);
  if (!object) return tl::unexpected(object.error());
  ordered_json& json = *object;
  for (const auto& [name, value] : json.items()) {
    if (name == "name" || name == "groups" || name == "role" || name == "until") continue;
    return tl::unexpected(fmt::format("{}: no such member; there are name, groups, role and until", name));
  }
  NewToken made{.text = token_text(random_value<TokenBits>()), .token = {}};
  json["created"] = time_text(now);
  json["sha256"] = to_hex(digest_of(made.text));
  auto token = token_from(json);
  if (!token) return tl::unexpected(token.error());
  if (token->until <= now) return tl::unexpected(std::string("until: has passed already"));
  made.token = *std::move(token);
  return made;
}

bool matches(const Token& token, std::string_view search) {
  const auto holds = [search](std::string_view text) { return holds_ignoring_case(text, search); };
  return holds(token.name) || std::ranges::any_of(token.groups, holds) || (token.role && holds(to_string(*token.role)));
}

}  // namespace

std::vector<ApiRoute> StateApi::routes() {
  return {
      {.method = "GET",
       .path = kTokensPath,
       .handler = [this](const ApiRequest& request) { return list_tokens(request); }},
      {.method = "POST",
       .path = kTokensPath,
       .handler = [this](const ApiRequest& request) { return make_token(request); },
       .most_body = kMostApiBody},
      {.method = "DELETE",
       .path = kTokenPath,
       .handler = [this](const ApiRequest& request) { return remove_token(request); }},
      {.method = "GET", .path = kAuditPath, .handler = [this](const ApiRequest& request) { return audit(request); }}};
}

HttpReply StateApi::list_tokens(const ApiRequest& request) const {
  const auto page = read_page(request.http.head, {.usual = kUsualPage, .most = kMostPage});
  if (!page) return problem(400, "Not understood", page.error());
  if (page->is_newest) return problem(400, "Not understood", "order: tokens come in the order of their names");
  ordered_json items = ordered_json::array();
  std::string last, next;
  state_.state().tokens->each_after(page->cursor, [&](const Token& token) {
    if (!matches(token, page->search)) return true;
    if (items.size() == page->limit) {
      next = last;
      return false;
    }
    last = token.name;
    items.push_back(for_people(token));
    if (auto faults = faults_of(token); !faults.empty()) items.back()["faults"] = std::move(faults);
    return true;
  });
  return with_etag(list_reply(std::move(items), next), etag_of(state_.state(), served_.generation()));
}

std::string StateApi::etag_of(const State& state, std::uint64_t generation) {
  return fmt::format("\"{:016x}-{}\"", state.tokens->stamp(), generation);
}

std::vector<std::string> StateApi::faults_of(const Token& token) const {
  const auto snapshot = served_.snapshot();
  if (snapshot == nullptr) return {};
  return NameReview(*snapshot, state_.state().tokens.get()).faults_of(token);
}

HttpReply StateApi::make_token(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  auto made = read_token(request.http.body, std::time(nullptr));
  if (!made) return problem(400, "The token cannot be made", made.error());
  const bool is_asked = state_.ask(
      [token = made->token, author = request.caller.author, generation = served_.generation(),
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<Token> {
        if (const auto same = check_match(if_match, etag_of(*store.state(), generation)); !same)
          return tl::unexpected(same.error());
        return store.add_token(token, author);
      },
      [this, text = made->text, asker = request.http.stream](const StateResult<Token>& token) {
        if (!token) return asker.reply(problem_of(token.error()));
        log::info("token made: {}", json_line(for_people(*token)));
        std::vector<std::string> warnings = faults_of(*token);
        std::ranges::move(state_.warnings(), std::back_inserter(warnings));
        asker.reply(json_reply({{"token", text}, {"item", for_people(*token)}, {"warnings", warnings}}, 201));
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

HttpReply StateApi::remove_token(const ApiRequest& request) {
  if (!served_.takes_changes()) return ending_problem();
  const bool is_asked = state_.ask(
      [name = std::string(request.http.arguments.front()), author = request.caller.author,
       generation = served_.generation(),
       if_match = if_match_of(request.http.head)](StateStore& store) -> StateResult<Token> {
        if (const auto same = check_match(if_match, etag_of(*store.state(), generation)); !same)
          return tl::unexpected(same.error());
        return store.remove_token(name, author);
      },
      [this, asker = request.http.stream](const StateResult<Token>& token) {
        if (!token) return asker.reply(problem_of(token.error()));
        log::info("token removed: {}", json_line(for_people(*token)));
        served_.publish([token = *token, asker] { asker.reply(json_reply({{"item", for_people(token)}})); });
      });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

HttpReply StateApi::audit(const ApiRequest& request) {
  const std::string since_text = query_argument(request.http.head, "since");
  const std::string cursor_text = query_argument(request.http.head, "cursor");
  const auto since = since_text.empty() ? std::optional<std::int64_t>(0) : parse_time(since_text);
  const auto cursor =
      cursor_text.empty() ? std::optional<std::uint64_t>(~std::uint64_t{0}) : parse_integer(cursor_text);
  if (!since) return problem(400, "Not understood", "since: a time such as 2026-01-31T12:00:00Z is needed");
  if (!cursor) return problem(400, "Not understood", "cursor: what the page before said is next");
  const bool is_asked =
      state_.ask([since = *since, cursor = *cursor](StateStore& store) { return store.audit(since, cursor); },
                 [asker = request.http.stream](const StateResult<std::vector<AuditRow>>& rows) {
                   if (!rows) return asker.reply(problem_of(rows.error()));
                   ordered_json items = ordered_json::array();
                   for (const AuditRow& row : *rows) items.push_back(to_json(row));
                   const bool is_full = rows->size() == StateStore::kAuditPage;
                   asker.reply(list_reply(std::move(items), is_full ? std::to_string(rows->back().id) : ""));
                 });
  return is_asked ? HttpReply{.is_later = true} : crowded_problem();
}

}  // namespace bloomwall::proxy
