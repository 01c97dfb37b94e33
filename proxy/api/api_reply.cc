// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/api_reply.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "base/units.h"
#include "proxy/http/escape.h"
#include "proxy/http/fields.h"
#include "proxy/state/json_members.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

std::string_view query_text(const RequestHead& head) {
  std::string_view target = head.target.form == TargetForm::absolute ? head.target.path_and_query : head.target.raw;
  next_part(target, '?');
  return target;
}

}  // namespace

HttpReply json_reply(const ordered_json& json, int status) {
  return {.status = status, .type = "application/json", .body = json_line(json) + '\n'};
}

HttpReply list_reply(ordered_json items, std::string_view next) {
  return json_reply({{"items", std::move(items)}, {"next", next.empty() ? ordered_json() : ordered_json(next)}});
}

HttpReply problem(int status, std::string_view title, std::string_view detail) {
  return {.status = status,
          .type = "application/problem+json",
          .body = json_line({{"title", title}, {"status", status}, {"detail", detail}}) + '\n'};
}

std::string etag_of(std::string_view body) {
  constexpr std::size_t kOctets = 12;
  const TokenDigest digest = digest_of(body);
  return '"' + to_hex(std::span(digest).first(kOctets)) + '"';
}

HttpReply with_etag(HttpReply reply, std::string_view etag) {
  reply.more_fields += "ETag: " + (etag.empty() ? etag_of(reply.body) : std::string(etag)) + "\r\n";
  return reply;
}

std::string if_match_of(const RequestHead& head) {
  const Field* const field = find_field(head.fields, "if-match");
  return field == nullptr ? std::string() : std::string(field->value);
}

StateResult<void> check_match(std::string_view if_match, const std::function<HttpReply()>& shown) {
  return if_match.empty() ? StateResult<void>() : check_match(if_match, etag_of(shown().body));
}

StateResult<void> check_match(std::string_view if_match, std::string_view own) {
  if (if_match.empty()) return {};
  while (!if_match.empty()) {
    const std::string_view tag = trim(next_part(if_match, ','));
    if (tag == "*" || tag == own) return {};
  }
  return tl::unexpected(StateError{StateError::Kind::changed, "somebody has changed it since: ask for it again"});
}

HttpReply problem_of(const StateError& error) {
  switch (error.kind) {
    case StateError::Kind::missing:
      return problem(404, "There is none", error.what);
    case StateError::Kind::conflict:
      return problem(409, "Nothing was changed", error.what);
    case StateError::Kind::changed:
      return problem(412, "Nothing was changed", error.what);
    case StateError::Kind::failed:
      break;
  }
  return problem(500, "Nothing was changed", error.what);
}

HttpReply foreign_group_problem() {
  return problem(403, "Not allowed", "you may change what is for your groups alone");
}
HttpReply ending_problem() { return problem(503, "Nothing was changed", "bloomwall is stopping"); }
HttpReply crowded_problem() { return problem(503, "Nothing was changed", "too many changes wait already"); }

std::string query_argument(const RequestHead& head, std::string_view name) {
  for (std::string_view query = query_text(head); !query.empty();) {
    std::string_view value = next_part(query, '&');
    if (next_part(value, '=') == name) return decode_form_text(value).value_or(std::string());
  }
  return {};
}

std::vector<std::string> query_arguments(const RequestHead& head, std::string_view name) {
  std::vector<std::string> values;
  for (std::string_view query = query_text(head); !query.empty();) {
    std::string_view value = next_part(query, '&');
    if (next_part(value, '=') != name) continue;
    if (auto text = decode_form_text(value); text && !text->empty()) values.push_back(*std::move(text));
  }
  return values;
}

tl::expected<ListPage, std::string> read_page(const RequestHead& head, const PageSizes& sizes) {
  if (!is_query_decodable(head)) return tl::unexpected(std::string("the query cannot be decoded"));
  ListPage page{.cursor = query_argument(head, "cursor"),
                .search = query_argument(head, "search"),
                .is_newest = false,
                .limit = sizes.usual};
  const std::string order = query_argument(head, "order"), limit = query_argument(head, "limit");
  if (!order.empty() && order != "newest") return tl::unexpected(std::string("order: newest, or left out"));
  page.is_newest = !order.empty();
  if (limit.empty()) return page;
  const auto number = parse_integer(limit);
  if (!number || *number < 1 || *number > sizes.most) {
    return tl::unexpected(fmt::format("limit: 1 to {} is needed", sizes.most));
  }
  page.limit = static_cast<std::size_t>(*number);
  return page;
}

bool holds_ignoring_case(std::string_view text, std::string_view part) {
  const auto is_same = [](char a, char b) { return to_lower(a) == to_lower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), is_same) != text.end() || part.empty();
}

bool is_query_decodable(const RequestHead& head) { return decode_form_text(query_text(head)).has_value(); }

std::optional<std::string> argument_twice(const RequestHead& head) {
  std::set<std::string> seen;
  for (std::string_view query = query_text(head); !query.empty();) {
    std::string_view value = next_part(query, '&');
    const auto name = decode_form_text(next_part(value, '='));
    if (!name || *name == "user_group" || *name == "certificate" || *name == "under") continue;  // query_arguments()
    if (!seen.insert(*name).second) return name;
  }
  return std::nullopt;
}

}  // namespace bloomwall::proxy
