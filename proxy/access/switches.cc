// SPDX-License-Identifier: Apache-2.0
#include "proxy/access/switches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace bloomwall::proxy {
namespace {

using filter::FilterAction;
using filter::Otherwise;

constexpr std::string_view kFilters = "filters.";
constexpr std::size_t kMostText = 128;  // octets

}  // namespace

std::string Switch::key() const {
  switch (what) {
    case What::filter:
      return std::string(kFilters) + filter;
    case What::otherwise:
      return "otherwise";
    case What::pause:
      break;
  }
  return "pause";
}

std::string Switch::text() const {
  switch (what) {
    case What::filter:
      return fmt::format("{}={}", key(), to_string(action));
    case What::otherwise:
      return fmt::format("{}={}", key(), to_string(otherwise));
    case What::pause:
      break;
  }
  return key();
}

tl::expected<Switch, std::string> read_switch(std::string_view text) {
  const auto refuse = [&](std::string_view what) {
    return tl::unexpected(fmt::format("\"{}\": {}", text.substr(0, kMostText), what));
  };
  Switch made;
  if (text == "pause") return made;
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
  if (key == "otherwise") {
    if (value != "allow" && value != "deny") return refuse("otherwise=allow or otherwise=deny is needed");
    made.what = Switch::What::otherwise;
    made.otherwise = value == "deny" ? Otherwise::deny : Otherwise::allow;
    return made;
  }
  if (!key.starts_with(kFilters) || key.size() == kFilters.size() || key.size() > kMostText) {
    return refuse("filters.NAME=ACTION, otherwise=allow, otherwise=deny or pause is needed");
  }
  constexpr std::array kActions{FilterAction::block, FilterAction::monitor, FilterAction::allow, FilterAction::off};
  const auto action =
      std::ranges::find(kActions, value, [](FilterAction of) { return std::string_view(to_string(of)); });
  if (action == kActions.end()) return refuse("the action may be block, monitor, allow or off");
  made.what = Switch::What::filter;
  made.filter = key.substr(kFilters.size());
  made.action = *action;
  return made;
}

namespace {

void pause(const SwitchedFilters& filters, filter::PolicyView& view) {
  for (std::size_t i = 0; i < view.actions.size(); ++i) {
    const bool stops = view.actions[i] == FilterAction::block || view.actions[i] == FilterAction::monitor;
    if (stops && filters.take_exceptions[i]) view.actions[i] = FilterAction::off;
  }
}

}  // namespace

void apply_switches(std::span<const Switch> switches, std::string_view group, Instant at,
                    const SwitchedFilters& filters, filter::PolicyView& view) {
  bool is_paused = false;
  for (const Switch& made : switches) {
    if (made.group != group || made.until <= at) continue;
    is_paused |= made.what == Switch::What::pause;
    if (made.what == Switch::What::otherwise) view.otherwise = made.otherwise;
    if (made.what != Switch::What::filter) continue;
    const auto place = std::ranges::find(filters.names, made.filter);
    if (place == filters.names.end()) continue;
    const auto filter = static_cast<std::size_t>(place - filters.names.begin());
    if (filters.take_exceptions[filter] || made.action == FilterAction::block) view.actions[filter] = made.action;
  }
  if (is_paused) pause(filters, view);
}

Instant next_end(std::span<const Switch> switches, Instant at, Instant latest) {
  for (const Switch& made : switches) {
    if (made.until > at) latest = std::min(latest, made.until);
  }
  return latest;
}

}  // namespace bloomwall::proxy
