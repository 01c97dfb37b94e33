// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "base/units.h"
#include "filter/cli/terminal.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/lasting_text.h"
#include "proxy/edition/loading.h"
#include "proxy/state/exception_item.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using filter::printable;
using nlohmann::ordered_json;

constexpr std::string_view kExceptionsPath = "/api/v1/exceptions";
std::string end_text(const ExceptionItem& item, const PeopleTime& time) {
  const Override& exception = item.exception;
  if (item.until_build && item.builds >= ExceptionItem::kInsists) {
    return fmt::format("until a build: the list insists, {} builds", item.builds);
  }
  if (item.until_build) return "until a build";
  if (exception.until == Override::kForever) return "ever";
  return "until " + time.text(exception.until);
}

std::string line_of(const ExceptionItem& item, const PeopleTime& time) {
  const Override& exception = item.exception;
  std::string scope;
  for (const std::string& filter : exception.filters) scope += " @" + filter;
  if (exception.client) scope += " for client " + client_text(exception);
  if (!exception.user.empty()) scope += " for user " + exception.user;
  if (!exception.group.empty()) scope += " for group " + exception.group;
  return fmt::format("{}\t{}\t{} {}{}\t{}\t{}\n", exception.id,
                     exception.action == Override::Action::allow ? "allow" : "deny", static_cast<char>(exception.kind),
                     printable(exception.entry), printable(scope), end_text(item, time), printable(item.why));
}

// False: the proxy says something that this program does not understand.
bool print_item(const ordered_json& json, const PeopleTime& time, const Streams& io) {
  const auto item = exception_from(json);
  if (!item) {
    print_lines(io.err, {"the running proxy is of another version: " + item.error()});
    return false;
  }
  std::string line = line_of(*item, time);
  if (const auto fault = text_member(json, "void")) {
    line.pop_back();
    line += fmt::format("\tvoid: {}\n", printable(*fault));
  }
  io.out << line;
  return true;
}

// As a line of an allow list; of one that a list cannot say nothing.
bool print_allow_line(const ordered_json& json, const PeopleTime& time, const Streams& io) {
  const auto item = exception_from(json);
  if (!item) return print_item(json, time, io);
  const std::string line = allow_line(*item, std::time(nullptr));
  if (!line.empty()) io.out << printable(line) << '\n';
  return true;
}

// The end that was asked for: a text, null for ever, or nothing.
tl::expected<std::optional<ordered_json>, std::string> end_of(const ExceptCommand& command) {
  if (!command.until.empty()) {
    if (!parse_time(command.until)) {
      return tl::unexpected(fmt::format("--until {}: a time such as 2026-01-31T12:00:00Z is needed", command.until));
    }
    return ordered_json(command.until);
  }
  if (command.lasts.empty()) return std::nullopt;
  auto end = end_after(command.lasts);
  if (!end) return tl::unexpected(end.error());
  return std::optional<ordered_json>(*std::move(end));
}

}  // namespace

int run_except(const ExceptCommand& command, const Streams& io) {
  const auto end = end_of(command);
  if (!end) {
    print_lines(io.err, {end.error()});
    return kExitError;
  }
  ordered_json json{{"action", command.deny ? "deny" : "allow"}, {"entry", command.entry}, {"why", command.why}};
  if (!command.filters.empty()) json["filters"] = command.filters;
  if (!command.client.empty()) json["client"] = command.client;
  if (!command.user.empty()) json["user"] = command.user;
  if (!command.group.empty()) json["group"] = command.group;
  if (*end) json["until"] = **end;
  if (command.until_build) json["until_build"] = true;
  const std::string body = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  const auto answer = ask_running(command.config, {.method = "POST", .path = kExceptionsPath, .body = body}, io);
  if (!answer) return answer.error();
  return print_item(answer->value("item", ordered_json()), PeopleTime(command.config), io) ? kExitDone : kExitError;
}

int run_exceptions(const ExceptionsCommand& command, const Streams& io) {
  const std::vector<std::string>& words = command.words;
  const bool exports = words.size() == 1 && words.front() == "export";
  if (words.size() == 2 && words.front() == "remove" && parse_integer(words.back())) {
    const std::string path = fmt::format("{}/{}", kExceptionsPath, words.back());
    const auto answer = ask_running(command.config, {.method = "DELETE", .path = path}, io);
    return answer ? kExitDone : answer.error();
  }
  if (!words.empty() && !exports) {
    print_lines(io.err, {"there are `exceptions`, `exceptions remove ID` and `exceptions export`"});
    return kExitError;
  }
  const auto answer = ask_for_all(command.config, fmt::format("{}?limit=1000", kExceptionsPath), io);
  if (!answer) return answer.error();
  if (command.json) {
    filter::print_json(io.out, *answer);
    return kExitDone;
  }
  const PeopleTime time(command.config);
  for (const ordered_json& item : answer->value("items", ordered_json::array())) {
    if (!(exports ? print_allow_line(item, time, io) : print_item(item, time, io))) return kExitError;
  }
  return kExitDone;
}

}  // namespace bloomwall::proxy
