// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/switch_item.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "proxy/state/json_members.h"
#include "proxy/state/time_text.h"

namespace bloomwall::proxy {

using nlohmann::ordered_json;

ordered_json to_json(const SwitchItem& item) {
  return {{"group", item.made.group},           {"switch", item.made.text()},          {"why", item.why},
          {"created", time_text(item.created)}, {"until", time_text(item.made.until)}, {"who", item.who}};
}

tl::expected<SwitchItem, std::string> switch_from(const ordered_json& json) {
  const auto refuse = [](std::string what) { return tl::unexpected(std::move(what)); };
  if (!json.is_object()) return refuse("no object");
  const auto group = text_member(json, "group"), text = text_member(json, "switch"), why = text_member(json, "why");
  if (!group || group->size() > SwitchItem::kMaxGroup) return refuse("group: a text of at most 64 octets is needed");
  if (!text) return refuse("switch: a text is needed");
  if (!why || why->size() > SwitchItem::kMaxWhy) return refuse("why: a text of at most 500 octets is needed");
  auto made = read_switch(*text);
  if (!made) return refuse("switch: " + made.error());
  const auto created = time_member(json, "created"), until = time_member(json, "until");
  if (!created || !until) return refuse("created and until: times such as 2026-01-31T12:00:00Z are needed");
  made->group = *group;
  made->until = *until;
  return SwitchItem{*std::move(made), *created, *why, text_member(json, "who").value_or("")};
}

}  // namespace bloomwall::proxy
