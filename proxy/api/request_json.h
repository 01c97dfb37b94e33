// A row of the query log as the API shows it: in pages of GET /api/v1/requests and in live streams.
//   {"at":"2026-11-23T12:00:00.250Z","id":"0123456789ABCDEF","client":"192.0.2.7","user":null,"group":"pupils",
//    "method":"GET","host":"h.test","url":"http://h.test/a","status":403,"decision":"blocked","reason":"listed",
//    "filter":"ads","expression":"S h.test","bytes_sent":700,"bytes_received":80,"duration_ms":1.5,"tunnel":false}
// Texts that are missing are null. Octets that are no UTF-8, and controls, are shown as \xNN.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "proxy/query_log/request_row.h"

namespace bloomwall::proxy {

nlohmann::ordered_json request_json(const RequestRow& row);
nlohmann::ordered_json null_or_text(std::string_view text);
std::string instant_text(std::int64_t milliseconds);  // since 1970: "2026-11-23T12:00:00.250Z"

}  // namespace bloomwall::proxy
