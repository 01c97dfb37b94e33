// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "base/terminal.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/lasting_text.h"
#include "proxy/http/escape.h"
#include "proxy/reload/loading.h"
#include "proxy/state/json_members.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

void append_argument(std::string& path, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  path.append(path.find('?') == std::string::npos ? "?" : "&").append(name).append("=");
  append_percent_encoded(path, value);
}

void print_request(const ordered_json& row, const PeopleTime& time, const Streams& io) {
  const auto text = [&](const char* name) { return printable(text_member(row, name).value_or("-")); };
  const auto status = row.find("status");
  const std::string expression = text_member(row, "expression").value_or("");
  io.out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}{}{}\t{}\n", time.event_text(text("at")), text("decision"),
                        text("client"), text("user"), text("method"), text("url"),
                        status != row.end() && status->is_number_integer() ? status->get<int>() : 0, text("filter"),
                        expression.empty() ? "" : " ", printable(expression), text("id"));
}

}  // namespace

int run_log(const LogCommand& command, const Streams& io) {
  const auto since = since_time(command.since);
  if (!since) {
    print_lines(io.err, {since.error()});
    return kExitError;
  }
  std::string first = "/api/v1/requests";
  append_argument(first, "host", command.host);
  append_argument(first, "path", command.path);
  append_argument(first, "client", command.client);
  append_argument(first, "user", command.user);
  append_argument(first, "group", command.group);
  append_argument(first, "filter", command.filter);
  append_argument(first, "decision", command.decision);
  append_argument(first, "id", command.id);
  append_argument(first, "since", *since);
  const PeopleTime time(command.config);
  std::uint64_t shown = 0;
  std::string cursor, before;
  std::set<std::string> unreadable;  // as each page names it
  do {
    std::string path = first;
    append_argument(path, "cursor", cursor);
    const auto answer = ask_running(command.config, {.method = "GET", .path = path}, io);
    if (!answer) return answer.error();
    for (const ordered_json& row : answer->value("items", ordered_json::array())) {
      if (command.limit > 0 && shown == command.limit) return kExitDone;
      ++shown;
      if (command.json) print_json(io.out, row);
      if (!command.json) print_request(row, time, io);
    }
    for (const ordered_json& name : answer->value("unreadable", ordered_json::array())) {
      const bool is_new = name.is_string() && unreadable.insert(name.get<std::string>()).second;
      if (is_new) print_lines(io.err, {name.get<std::string>() + " cannot be read"});
    }
    before = std::exchange(cursor, text_member(*answer, "next").value_or(""));
  } while (!cursor.empty() && cursor != before);
  if (cursor.empty()) return kExitDone;
  print_lines(io.err,
              {"the search does not get on in the time that it has: what is older was not searched; ask for less, "
               "with --since or --host"});
  return kExitError;
}

}  // namespace bloomwall::proxy
