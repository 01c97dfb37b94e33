// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/request_json.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/terminal.h"
#include "proxy/http/serialise.h"

namespace bloomwall::proxy {

using nlohmann::ordered_json;

ordered_json null_or_text(std::string_view text) {
  return text.empty() ? ordered_json() : ordered_json(printable(text));
}

std::string instant_text(std::int64_t milliseconds) {
  std::string text;
  append_iso8601(text, TimePoint(std::chrono::milliseconds(milliseconds)));
  return text;
}

ordered_json request_json(const RequestRow& row) {
  return {{"at", instant_text(row.at)},
          {"id", null_or_text(row.id)},
          {"client", null_or_text(row.client)},
          {"user", null_or_text(row.user)},
          {"group", null_or_text(row.group)},
          {"method", null_or_text(row.method)},
          {"host", null_or_text(row.host)},
          {"url", null_or_text(row.url)},
          {"status", row.status},
          {"decision", to_string(row.decision)},
          {"reason", printable(row.reason)},
          {"filter", null_or_text(row.filter)},
          {"expression", null_or_text(row.expression)},
          {"bytes_sent", row.bytes_sent},
          {"bytes_received", row.bytes_received},
          {"duration_ms", static_cast<double>(row.microseconds) / 1000},
          {"tunnel", row.is_tunnel}};
}

}  // namespace bloomwall::proxy
