// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/config_api.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/terminal.h"
#include "base/units.h"
#include "proxy/api/api_reply.h"
#include "proxy/decision/snapshot.h"

namespace bloomwall::proxy {
namespace {

using conf::YamlNode;
using nlohmann::ordered_json;

constexpr const char* kMasked = "***";

ordered_json scalar(const YamlNode& node) {
  if (!node.quoted && (node.text == "true" || node.text == "false")) return node.text == "true";
  if (const auto number = node.quoted ? std::nullopt : parse_integer(node.text)) return *number;
  return printable(node.text);
}

ordered_json shown(const YamlNode& node) {
  ordered_json list = ordered_json::array(), map = ordered_json::object();
  switch (node.kind) {
    case YamlNode::Kind::null:
      return {};
    case YamlNode::Kind::scalar:
      return scalar(node);
    case YamlNode::Kind::sequence:
      for (const YamlNode& item : node.items) list.push_back(shown(item));
      return list;
    case YamlNode::Kind::map:
      for (const conf::YamlEntry& entry : node.entries) map[printable(entry.key)] = shown(entry.value);
      return map;
  }
  return {};
}

// A program's arguments: passwords of directories are given like that.
void mask_arguments(std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i) command[i] = kMasked;
}

}  // namespace

ApiRoute ConfigApi::route() const {
  return {.method = "GET", .path = "/api/v1/config", .role = Role::admin, .handler = [this](const ApiRequest&) {
            const SnapshotPtr served = served_.snapshot();
            if (served == nullptr) return problem(503, "Nothing is served", "bloomwall is starting or stopping");
            conf::Config settings = served->settings;
            conf::Authentication& logins = settings.authentication;
            for (auto* helper : {&logins.basic_helper, &logins.negotiate_helper, &logins.groups_helper}) {
              mask_arguments(helper->command);
            }
            if (!settings.reports.webhook.empty()) settings.reports.webhook = kMasked;  // its path is a secret
            return json_reply(
                {{"generation", served->generation}, {"settings", shown(conf::values_of(std::move(settings)))}});
          }};
}

}  // namespace bloomwall::proxy
