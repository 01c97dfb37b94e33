// `bloomwall switch`: a question to the running proxy.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "base/terminal.h"
#include "proxy/api/http_client.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/lasting_text.h"
#include "proxy/reload/loading.h"
#include "proxy/state/json_members.h"
#include "proxy/state/switch_item.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {
namespace {

using nlohmann::ordered_json;

void print_switch(const ordered_json& item, const PeopleTime& time, const Streams& io) {
  const auto text = [&](const char* name) { return printable(text_member(item, name).value_or("")); };
  const auto fault = text_member(item, "void");
  io.out << fmt::format("{}\t{}\tuntil {}\t{}\t{}{}\n", text("group"), text("switch"), time.text(text("until")),
                        text("who"), text("why"), fault ? "\tvoid: " + printable(*fault) : "");
}

// Those that there are.
int list_switches(const SwitchCommand& command, const Streams& io) {
  const auto answer = ask_running(command.config, {.method = "GET", .path = "/api/v1/groups"}, io);
  if (!answer) return answer.error();
  const PeopleTime time(command.config);
  const auto print = [&](const ordered_json& items) {
    for (const ordered_json& item : items) {
      command.json ? print_json(io.out, item) : print_switch(item, time, io);
    }
  };
  // One whose filter is gone is listed below, with why.
  const ordered_json orphans = answer->value("void_switches", ordered_json::array());
  for (const ordered_json& group : answer->value("items", ordered_json::array())) {
    ordered_json items = group.value("switches", ordered_json::array());
    for (const ordered_json& item : items) {
      const auto is_same = [&](const ordered_json& orphan) {
        return orphan["group"] == item["group"] && orphan["switch"] == item["switch"];
      };
      if (std::ranges::none_of(orphans, is_same)) print(ordered_json::array({item}));
    }
  }
  print(orphans);
  return kExitDone;
}

// Of which names in a path need no escapes.
bool is_plain(std::string_view text) {
  return !text.empty() && text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
                              std::string_view::npos;
}

}  // namespace

int run_switch(const SwitchCommand& command, const Streams& io) {
  if (command.group.empty()) return list_switches(command, io);
  const std::string key = command.what.substr(0, command.what.find('='));
  if (!is_plain(command.group) || !is_plain(key)) {
    print_lines(io.err, {"a group and filters.NAME=ACTION, otherwise=allow, otherwise=deny or pause are needed"});
    return kExitError;
  }
  const std::string path = fmt::format("/api/v1/groups/{}/switches/{}", command.group, key);
  if (command.ends) {
    const auto answer = ask_running(command.config, {.method = "DELETE", .path = path}, io);
    return answer ? kExitDone : answer.error();
  }
  const auto seconds = lasting_seconds(command.lasts, std::chrono::seconds(SwitchItem::kLongest));
  if (!seconds) {
    print_lines(io.err, {fmt::format("--for {}: 1s to 30d, such as 45m", command.lasts)});
    return kExitError;
  }
  ordered_json json{{"until", time_text(std::time(nullptr) + *seconds)}, {"why", command.why}};
  if (key.size() < command.what.size()) json["value"] = command.what.substr(key.size() + 1);
  const std::string body = json_line(json);
  const auto answer = ask_running(command.config, {.method = "PUT", .path = path, .body = body}, io);
  if (!answer) return answer.error();
  print_switch(answer->value("item", ordered_json::object()), PeopleTime(command.config), io);
  return kExitDone;
}

}  // namespace bloomwall::proxy
