// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/password_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "base/figures.h"
#include "base/units.h"
#include "proxy/auth/check_queue.h"
#include "proxy/auth/password_hash.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostCosts = 8;

struct SameCost {
  std::size_t users = 0;
  std::string hash;  // one of them
};

// What stands before the salt: "$2y$10$", "$6$rounds=9000$".
std::string cost_of(const std::string& hash) {
  const std::size_t kind = hash.find('$', 1);
  const std::size_t cost = hash.find('$', kind + 1);
  const bool has_cost = hash.starts_with("$2") || hash.starts_with("$y") || hash.find("$rounds=") == kind;
  return hash.substr(0, has_cost ? cost : kind);
}

std::chrono::duration<double> time_of_check(const std::string& hash) {
  PasswordHasher hasher;
  const auto before = std::chrono::steady_clock::now();
  hasher.compare("a password of usual length", hash);
  return std::chrono::steady_clock::now() - before;
}

}  // namespace

std::optional<std::string> find_password_overload(const AuthenticationRules& rules) {
  if (rules.users == nullptr || !rules.has_basic || rules.cache <= Milliseconds(0)) return std::nullopt;
  std::map<std::string, SameCost> costs;
  rules.users->each_hash([&](const std::string& hash) {
    const std::string cost = cost_of(hash);
    const auto known = costs.find(cost);
    if (known == costs.end() && costs.size() == kMostCosts) return;
    SameCost& same = known == costs.end() ? costs[cost] : known->second;
    if (same.users++ == 0) same.hash = hash;
  });
  std::chrono::duration<double> work{0};
  for (const auto& [cost, same] : costs) work += time_of_check(same.hash) * static_cast<double>(same.users);
  const std::size_t threads = CheckQueue::threads_here();
  const double seconds = work.count() / static_cast<double>(threads);
  const auto holds = std::chrono::duration<double>(rules.cache).count();
  if (seconds <= holds) return std::nullopt;
  return fmt::format(
      "authentication.cache: {} is less than it takes to check the passwords of users_file once: {} users, {:.0f} s "
      "with {} "
      "of this machine; while all of them are active, logins wait. Set it to {:.0f}m or more, or make the lines with a "
      "lower cost",
      format_duration(rules.cache), format_count(rules.users->size()), seconds,
      count_text(threads, "thread", "threads"), seconds / 60 * 4 + 1);
}

}  // namespace bloomwall::proxy
