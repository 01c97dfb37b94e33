// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/login_counts.h"

#include <algorithm>

namespace bloomwall::proxy {

const char* to_string(LoginScheme scheme) {
  switch (scheme) {
    case LoginScheme::none:
      return "none";
    case LoginScheme::basic:
      return "basic";
    case LoginScheme::bearer:
      return "bearer";
    case LoginScheme::negotiate:
      return "negotiate";
  }
  return "none";
}

const char* to_string(LoginResult result) {
  switch (result) {
    case LoginResult::accepted:
      return "accepted";
    case LoginResult::remembered:
      return "remembered";
    case LoginResult::refused:
      return "refused";
    case LoginResult::locked:
      return "locked";
    case LoginResult::unchecked:
      return "unchecked";
    case LoginResult::more:
      return "more";
    case LoginResult::missing:
      return "missing";
  }
  return "unchecked";
}

void LoginCounts::count_check(std::chrono::microseconds took) {
  const auto bound = std::ranges::lower_bound(kBounds, std::chrono::duration<double>(took).count());
  seconds[static_cast<std::size_t>(bound - kBounds.begin())].add();
  microseconds.add(static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)));
}

void LoginCounts::add(const LoginCounts& other) {
  for (std::size_t scheme = 0; scheme < kSchemes; ++scheme) add_table(results[scheme], other.results[scheme]);
  add_table(seconds, other.seconds);
  microseconds.add(other.microseconds.get());
}

}  // namespace bloomwall::proxy
