// `bloomwall token` and `bloomwall audit`: questions to the running proxy.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "base/terminal.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/lasting_text.h"
#include "proxy/reload/loading.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"
#include "proxy/state/tokens.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kTokens = "/api/v1/tokens";

void print_token(const ordered_json& item, const PeopleTime& time, const Streams& io) {
  const auto groups = texts_member(item, "groups", 1000, 1000).value_or(std::vector<std::string>());
  const std::string until = text_member(item, "until").value_or("");
  const auto faults = texts_member(item, "faults", 1000, 1000).value_or(std::vector<std::string>());
  io.out << fmt::format("{}\t{}\t{}\t{}{}\n", printable(text_member(item, "name").value_or("")),
                        groups.empty() ? "-" : printable(fmt::format("{}", fmt::join(groups, ","))),
                        text_member(item, "role").value_or("-"), until.empty() ? "ever" : "until " + time.text(until),
                        faults.empty() ? "" : "\t" + printable(fmt::format("{}", fmt::join(faults, "; "))));
}

void print_row(const ordered_json& row, const PeopleTime& time, const Streams& io) {
  const auto text = [&](const char* name) { return printable(text_member(row, name).value_or("")); };
  io.out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", time.event_text(text("at")), text("who"), text("via"), text("what"),
                        text("subject"), text("why"));
}

}  // namespace

int run_token_add(const TokenCommand& command, const Streams& io) {
  ordered_json json{{"name", command.name}, {"groups", command.groups}};
  if (!command.role.empty()) json["role"] = command.role;
  if (command.lasts == "ever") {
    json["until"] = nullptr;
  } else if (const auto seconds = lasting_seconds(command.lasts)) {
    json["until"] = time_text(std::time(nullptr) + *seconds);
  } else {
    print_lines(io.err, {fmt::format("--for {}: 1s to 3650d, such as 12h or 90d, or ever", command.lasts)});
    return kExitError;
  }
  const std::string body = json_line(json);
  const auto answer = ask_running(command.config, {.method = "POST", .path = kTokens, .body = body}, io);
  if (!answer) return answer.error();
  io.out << printable(text_member(*answer, "token").value_or("")) << '\n';
  io.out.flush();
  if (io.out) return kExitDone;
  // Nobody has seen it, and nothing shows it again.
  const std::string path = fmt::format("{}/{}", kTokens, command.name);
  const auto removed = ask_running(command.config, {.method = "DELETE", .path = path}, io);
  print_lines(io.err, {removed ? "the token could not be printed, and was removed again"
                               : "the token could not be printed; remove it: bloomwall token remove " + command.name});
  return kExitError;
}

int run_token_list(const TokenCommand& command, const Streams& io) {
  const auto answer = ask_for_all(command.config, fmt::format("{}?limit=1000", kTokens), io);
  if (!answer) return answer.error();
  if (command.json) {
    print_json(io.out, *answer);
    return kExitDone;
  }
  const PeopleTime time(command.config);
  for (const ordered_json& item : answer->value("items", ordered_json::array())) print_token(item, time, io);
  return kExitDone;
}

int run_token_remove(const TokenCommand& command, const Streams& io) {
  if (!is_token_name(command.name)) {  // which need no escapes in a path
    print_lines(io.err, {fmt::format("no token is called {}", command.name)});
    return kExitRefused;
  }
  const std::string path = fmt::format("{}/{}", kTokens, command.name);
  const auto answer = ask_running(command.config, {.method = "DELETE", .path = path}, io);
  return answer ? kExitDone : answer.error();
}

int run_audit(const AuditCommand& command, const Streams& io) {
  const auto since = since_time(command.since);
  if (!since) {
    print_lines(io.err, {since.error()});
    return kExitError;
  }
  const PeopleTime time(command.config);
  std::string cursor;
  do {
    const std::string path =
        fmt::format("/api/v1/audit?since={}{}{}", *since, cursor.empty() ? "" : "&cursor=", cursor);
    const auto answer = ask_running(command.config, {.method = "GET", .path = path}, io);
    if (!answer) return answer.error();
    for (const ordered_json& row : answer->value("items", ordered_json::array())) {
      if (command.json) print_json(io.out, row);
      if (!command.json) print_row(row, time, io);
    }
    cursor = text_member(*answer, "next").value_or("");
    if (!cursor.empty() && !parse_integer(cursor)) return kExitError;
  } while (!cursor.empty());
  return kExitDone;
}

}  // namespace bloomwall::proxy
