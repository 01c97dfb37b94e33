// Switches: overrides of what a group does until a time, for an exam or a break.
//   filters.NAME=ACTION  the group's action for that filter: block, monitor, allow or off
//   otherwise=WORD       allow or deny
//   pause                every filter that blocks or monitors is off, but for those whose `exceptions` are refused;
//                        counts before the others
// A filter whose `exceptions` are refused takes no other action than block from a switch either: one that says
// otherwise means nothing, wherever it comes from.
// One of a group and a key counts. Names of groups and filters that the configuration does not have mean nothing.
// Pure; no clock is read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "base/time_zone.h"
#include "filter/policy/policy.h"

namespace bloomwall::proxy {

struct Switch {
  enum class What : std::uint8_t { filter, otherwise, pause };
  std::string group;
  What what = What::pause;
  std::string filter = {};                                    // What::filter: its name
  filter::FilterAction action = filter::FilterAction::block;  // likewise
  filter::Otherwise otherwise = filter::Otherwise::allow;     // What::otherwise
  Instant until = 0;                                          // ends then

  std::string key() const;   // "filters.games", "otherwise", "pause"
  std::string text() const;  // "filters.games=off", "otherwise=deny", "pause"
  friend bool operator==(const Switch&, const Switch&) = default;
};
using SwitchesPtr = std::shared_ptr<const std::vector<Switch>>;  // null: none

// As text() gives it; group and until are left as they are. The error is for people.
tl::expected<Switch, std::string> read_switch(std::string_view text);

// What a group's view is put over: the names of its filters, and whether each takes exceptions.
struct SwitchedFilters {
  const std::vector<std::string>& names;
  const std::vector<bool>& take_exceptions;
};
// Puts those of the group that have not ended at `at` over its view.
void apply_switches(std::span<const Switch> switches, std::string_view group, Instant at,
                    const SwitchedFilters& filters, filter::PolicyView& view);
// When the first of them ends behind `at`; at most `latest`.
Instant next_end(std::span<const Switch> switches, Instant at, Instant latest);

}  // namespace bloomwall::proxy
