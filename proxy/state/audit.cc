// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/audit.h"

#include <nlohmann/json.hpp>

#include "proxy/state/time_text.h"

namespace bloomwall::proxy {

using nlohmann::ordered_json;

ordered_json to_json(const AuditRow& row) {
  const auto parsed = [](const std::string& text) {
    ordered_json json = ordered_json::parse(text, nullptr, false);
    return json.is_discarded() ? ordered_json() : json;
  };
  return {{"id", row.id},
          {"at", time_text(row.at)},
          {"who", row.author.who},
          {"via", row.author.via},
          {"what", row.what},
          {"subject", row.subject},
          {"before", parsed(row.before)},
          {"after", parsed(row.after)},
          {"why", row.why},
          {"report", row.report == 0 ? ordered_json() : ordered_json(row.report)}};
}

std::string audit_line(const AuditRow& row, std::size_t most) {
  ordered_json json = to_json(row);
  const auto text = [&json] { return json.dump(-1, ' ', true, ordered_json::error_handler_t::replace); };
  std::string line = text();
  for (const char* const name : {"before", "after", "why", "subject", "who"}) {
    if (most == 0 || line.size() <= most) break;
    json[name] = nullptr;
    json["cut"] = true;
    line = text();
  }
  return line;
}

}  // namespace bloomwall::proxy
