// How many reports of mistakes are taken: kOfClient an hour from one client, kOfAll from all. Over any hour, not over
// each: the times of those that were taken within the last one are kept, and these are at most kOfAll.
// Lives in memory: a restart forgets. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

class ReportRate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kOfClient = 5, kOfAll = 60;
  static constexpr std::chrono::hours kWithin{1};

  // Zero: it is taken, and counts. Else how long until one may be.
  std::chrono::seconds take(std::string_view client, Time now) {
    while (!taken_.empty() && taken_.front().at + kWithin <= now) taken_.pop_front();
    const auto is_of_client = [client](const Taken& one) { return one.client == client; };
    const auto of_client = static_cast<std::size_t>(std::ranges::count_if(taken_, is_of_client));
    if (of_client >= kOfClient) return wait_for(*std::ranges::find_if(taken_, is_of_client), now);
    if (taken_.size() >= kOfAll) return wait_for(taken_.front(), now);
    taken_.push_back({now, std::string(client)});
    return std::chrono::seconds(0);
  }

 private:
  struct Taken {
    Time at;
    std::string client;
  };
  static std::chrono::seconds wait_for(const Taken& oldest, Time now) {
    return std::chrono::ceil<std::chrono::seconds>(oldest.at + kWithin - now);
  }

  std::deque<Taken> taken_;  // the oldest first
};

}  // namespace bloomwall::proxy
