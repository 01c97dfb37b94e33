// What is counted of logins: bloomwall_auth_total{scheme,result} and bloomwall_auth_seconds.
// Threads: as Count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "proxy/telemetry/count.h"

namespace bloomwall::proxy {

enum class LoginScheme : std::uint8_t { none, basic, bearer, negotiate };
const char* to_string(LoginScheme scheme);

// What became of a request whose client must log in.
enum class LoginResult : std::uint8_t {
  accepted,    // the credentials were checked and are right
  remembered,  // they were right before
  refused,     // they are wrong
  locked,      // too many were wrong: nothing was checked
  unchecked,   // no room, no answer, or none in time
  more,        // Negotiate: the client is asked for another leg
  missing,     // there were none, or of a scheme that is not offered
};
const char* to_string(LoginResult result);

struct LoginCounts {
  static constexpr std::size_t kSchemes = static_cast<std::size_t>(LoginScheme::negotiate) + 1;
  static constexpr std::size_t kResults = static_cast<std::size_t>(LoginResult::missing) + 1;
  static constexpr std::array<double, 11> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,   0.25,   0.5,   1.0,  5.0};  // seconds

  std::array<std::array<Count, kResults>, kSchemes> results;
  std::array<Count, kBounds.size() + 1> seconds;  // of checks; not cumulative
  Count microseconds;

  void count(LoginScheme scheme, LoginResult result) {
    results[static_cast<std::size_t>(scheme)][static_cast<std::size_t>(result)].add();
  }
  void count_check(std::chrono::microseconds took);
  void add(const LoginCounts& other);
};

}  // namespace bloomwall::proxy
