// Replies of the API (/api/v1): JSON, and errors as application/problem+json (RFC 9457).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "proxy/ops/http_routes.h"
#include "proxy/state/state_store.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostApiBody = std::size_t{64} << 10;

HttpReply json_reply(const nlohmann::ordered_json& json, int status = 200);
// {"items":[...],"next":null}; `next`: the cursor of the next page, or empty.
HttpReply list_reply(nlohmann::ordered_json items, std::string_view next = {});
HttpReply problem(int status, std::string_view title, std::string_view detail);
// 404, 409 or 500.
HttpReply problem_of(const StateError& error);
HttpReply foreign_group_problem();  // 403: a reviewer of some groups alone, and it is for others
HttpReply ending_problem();         // 503: the process ends
HttpReply crowded_problem();        // 503: too many changes wait

// The value of one argument of the query ("?since=..."), decoded; empty where it is missing or not decodable.
std::string query_argument(const RequestHead& head, std::string_view name);

}  // namespace bloomwall::proxy
