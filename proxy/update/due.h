// When a list is asked for again. Pure.
//   succeeded   after `every`, or after what the list itself says ("! Expires: 4 days", at most kMostExpiry) where that
//               is longer
//   failed      after 30 minutes, twice that each further time, at most 6 hours
//   refused     after `every`: what was wrong takes its author a while
//   the server said Retry-After: not before that, at most kMostWait
// A timer calls every hour or so: what is due within a twentieth of `every` is asked for now, so that a daily list does
// not drift to a day and an hour.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "proxy/update/lists_state.h"

namespace bloomwall::proxy {

using Seconds = std::int64_t;

inline constexpr Seconds kMostWait = Seconds{7} * 86'400;    // that a server may ask for
inline constexpr Seconds kMostExpiry = Seconds{7} * 86'400;  // that a list may ask for
inline constexpr Seconds kFirstRetry = 1'800, kMostRetry = Seconds{6} * 3'600;

struct DueTimes {
  Seconds every = 0;
  Seconds expires = 0;      // that the list itself says; 0: it says nothing
  Seconds retry_after = 0;  // that the server asked for; 0: it did not
};
// Sets `due` and `is_told` of a source whose `result`, `checked` and `failures` are those of the request just made.
void set_due(SourceState& source, const DueTimes& times);

// `every` as it is now: it may have been changed since. A clock that was set back makes everything due.
bool is_due(const SourceState& source, Seconds every, Seconds now);
// What a server asked for holds also for updates at once.
bool may_ask(const SourceState& source, Seconds now);

// Of a comment line in the head of a list: "! Expires: 12 hours (update frequency)". Nothing where it says no such
// thing.
std::optional<Seconds> expiry_of_line(std::string_view line);

}  // namespace bloomwall::proxy
