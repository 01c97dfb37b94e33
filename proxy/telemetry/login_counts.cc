// SPDX-License-Identifier: Apache-2.0
#include "proxy/telemetry/login_counts.h"

#include <algorithm>

#include "base/names.h"

namespace bloomwall::proxy {

const char* to_string(LoginScheme scheme) {
  static constexpr auto kWords = name_table<LoginScheme>({{LoginScheme::none, "none"},
                                                          {LoginScheme::basic, "basic"},
                                                          {LoginScheme::bearer, "bearer"},
                                                          {LoginScheme::negotiate, "negotiate"}});
  return kWords.text(scheme);
}

const char* to_string(LoginResult result) {
  static constexpr auto kWords = name_table<LoginResult>({{LoginResult::accepted, "accepted"},
                                                          {LoginResult::remembered, "remembered"},
                                                          {LoginResult::refused, "refused"},
                                                          {LoginResult::locked, "locked"},
                                                          {LoginResult::unchecked, "unchecked"},
                                                          {LoginResult::more, "more"},
                                                          {LoginResult::missing, "missing"}});
  return kWords.text(result);
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
