// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/terminal.h"
#include "base/units.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/lasting_text.h"
#include "proxy/reload/loading.h"
#include "proxy/state/exception_item.h"
#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using nlohmann::ordered_json;

constexpr std::string_view kExceptionsPath = "/api/v1/exceptions";
constexpr std::size_t kMostImported = std::size_t{64} << 20;  // octets of a file

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

tl::expected<ordered_json, int> ask_for_exceptions(const std::filesystem::path& config, const Streams& io) {
  return ask_for_all(config, fmt::format("{}?limit=1000", kExceptionsPath), io);
}

// As an allow list, of those that a list can say. Says of how many it cannot: who reads it elsewhere would miss them.
int print_allow_list(const ordered_json& items, const PeopleTime& time, const Streams& io) {
  std::size_t left_out = 0;
  for (const ordered_json& json : items) {
    const auto item = exception_from(json);
    if (!item) return print_item(json, time, io) ? kExitDone : kExitError;
    const std::string line = allow_line(*item, std::time(nullptr));
    if (line.empty()) {
      ++left_out;
    } else {
      io.out << printable(line) << '\n';
    }
  }
  if (left_out > 0) {
    print_lines(io.err, {fmt::format("warning: {} that an allow list cannot say: of what is denied, for some people or "
                                     "against some filters only; `exceptions --json` has all, and `exceptions import` "
                                     "makes them elsewhere",
                                     left_out == 1 ? "1 is left out" : fmt::format("{} are left out", left_out))});
  }
  return kExitDone;
}

// What `exceptions --json`, the API or exceptions.json has: {"items":[...]}. All of it, or what is wrong.
tl::expected<std::vector<ExceptionItem>, std::string> read_items(const std::string& file, std::istream& in) {
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (in.read(buffer.data(), buffer.size()), in.gcount() > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMostImported) return tl::unexpected(fmt::format("{}: over {} MiB", file, kMostImported >> 20));
  }
  const auto json = ordered_json::parse(text, nullptr, false);
  const auto items = json.is_object() ? json.find("items") : json.end();
  if (!json.is_object() || items == json.end() || !items->is_array()) {
    return tl::unexpected(fmt::format("{}: is not what `bloomwall exceptions --json` writes", file));
  }
  std::vector<ExceptionItem> out;
  for (const ordered_json& each : *items) {
    auto item = exception_from(each);
    if (!item) return tl::unexpected(fmt::format("{}: item {}: {}", file, out.size() + 1, item.error()));
    out.push_back(*std::move(item));
  }
  return out;
}

// As a new one; its number, its maker and its time become those of the import.
ordered_json question_of(const ExceptionItem& item) {
  ordered_json json = to_json(item);
  json["entry"] = entry_to_type(item.exception);
  for (const char* const own : {"id", "kind", "created", "who", "builds", "seen", "report"}) json.erase(own);
  return json;
}

bool is_there(const ordered_json& running, const ExceptionItem& item) {
  return std::ranges::any_of(running, [&](const ordered_json& json) {
    const auto other = exception_from(json);
    return other && says_the_same(other->exception, item.exception) && other->exception.until == item.exception.until &&
           other->until_build == item.until_build && other->why == item.why;
  });
}

// In the order in which they were made, since of two the newer one counts.
int import_exceptions(const ExceptionsCommand& command, const std::string& file, const Streams& io) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) {
      print_lines(io.err, {fmt::format("{}: cannot be opened", printable(file))});
      return kExitError;
    }
  }
  auto items = read_items(file == "-" ? "standard input" : printable(file), file == "-" ? io.in : opened);
  if (!items) {
    print_lines(io.err, {items.error()});
    return kExitError;
  }
  std::ranges::stable_sort(*items, {}, [](const ExceptionItem& item) { return item.exception.id; });
  const auto running = ask_for_exceptions(command.config, io);
  if (!running) return running.error();
  std::size_t made = 0, there = 0, ended = 0, refused = 0;
  for (const ExceptionItem& item : *items) {
    if (item.exception.until <= std::time(nullptr)) {
      ++ended;
    } else if (is_there(running->at("items"), item)) {
      ++there;
    } else {
      const auto answer = ask_running(
          command.config, {.method = "POST", .path = kExceptionsPath, .body = json_line(question_of(item))}, io);
      if (!answer && answer.error() != kExitRefused) return answer.error();
      if (!answer) {
        print_lines(io.err, {fmt::format("that was {} {} {}, which is not made",
                                         item.exception.action == Override::Action::allow ? "allow" : "deny",
                                         static_cast<char>(item.exception.kind), printable(item.exception.entry))});
      }
      ++(answer ? made : refused);
    }
  }
  io.out << fmt::format("{} made, {} there already, {} ended, {} refused\n", made, there, ended, refused);
  return refused == 0 ? kExitDone : kExitRefused;
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
  if (words.size() == 2 && words.front() == "import") return import_exceptions(command, words.back(), io);
  if (!words.empty() && !exports) {
    print_lines(io.err,
                {"there are `exceptions`, `exceptions remove ID`, `exceptions export` and `exceptions import FILE`"});
    return kExitError;
  }
  const auto answer = ask_for_exceptions(command.config, io);
  if (!answer) return answer.error();
  if (command.json) {
    print_json(io.out, *answer);
    return kExitDone;
  }
  const PeopleTime time(command.config);
  const ordered_json items = answer->value("items", ordered_json::array());
  if (exports) return print_allow_list(items, time, io);
  for (const ordered_json& item : items) {
    if (!print_item(item, time, io)) return kExitError;
  }
  return kExitDone;
}

}  // namespace bloomwall::proxy
