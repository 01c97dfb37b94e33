// Replies of the API (/api/v1): JSON, and errors as application/problem+json (RFC 9457).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/api/http_routes.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostApiBody = std::size_t{64} << 10;

HttpReply json_reply(const nlohmann::ordered_json& json, int status = 200);
// {"items":[...],"next":null}; `next`: the cursor of the next page, or empty.
HttpReply list_reply(nlohmann::ordered_json items, std::string_view next = {});
HttpReply problem(int status, std::string_view title, std::string_view detail);
// The same with an ETag, by which it can be named in If-Match; without one, that of its body.
HttpReply with_etag(HttpReply reply, std::string_view etag = {});
std::string etag_of(std::string_view body);
// The field If-Match of a request; empty: it has none.
std::string if_match_of(const RequestHead& head);
// Whether a change may be made to what has the ETag `own` by now (RFC 9110 section 13.1.1). Error: changed.
StateResult<void> check_match(std::string_view if_match, std::string_view own);
// The same of what `shown` gives, which is asked where there is an If-Match.
StateResult<void> check_match(std::string_view if_match, const std::function<HttpReply()>& shown);
// 404, 409, 412 or 500.
HttpReply problem_of(const StateError& error);
HttpReply foreign_group_problem();  // 403: a reviewer of some groups alone, and it is for others
HttpReply ending_problem();         // 503: the process ends
HttpReply crowded_problem();        // 503: too many changes wait

// The value of one argument of the query ("?since=..."), decoded; empty where it is missing or not decodable.
std::string query_argument(const RequestHead& head, std::string_view name);
// What a question about a list asks for: "cursor", "search", "order=newest" and "limit" (1 to `most`). Error: what is
// wrong.
struct ListPage {
  std::string cursor, search;
  bool is_newest = false;
  std::size_t limit = 0;
};
struct PageSizes {
  std::size_t usual = 0, most = 0;
};
tl::expected<ListPage, std::string> read_page(const RequestHead& head, const PageSizes& sizes);
// Letters of ASCII in either case; linear.
bool holds_ignoring_case(std::string_view text, std::string_view part);
// Of one that may be given several times: all that are not empty, in their order.
std::vector<std::string> query_arguments(const RequestHead& head, std::string_view name);
// Whether each of them can be decoded. One that cannot is no missing one: the answer would be to another question.
bool is_query_decodable(const RequestHead& head);
// The first that is there twice and may not be, however it is spelt: some readers take the first value, some the last.
std::optional<std::string> argument_twice(const RequestHead& head);

}  // namespace bloomwall::proxy
