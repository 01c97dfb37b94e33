// What came of credentials, and by what a client is told apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "base/units.h"
#include "proxy/auth/attempt_limits.h"
#include "proxy/auth/user.h"

namespace bloomwall::proxy {

using ClientKey = AttemptLimits::Key;  // an IPv4 address or an IPv6 /64

struct Login {
  enum class Result : std::uint8_t {
    accepted,
    refused,    // wrong, unknown or ended
    locked,     // too many were refused: nothing was checked
    unchecked,  // no room or no memory to check it
  };
  Result result = Result::refused;
  UserPtr user = nullptr;      // accepted
  Milliseconds locked_for{0};  // locked
};

}  // namespace bloomwall::proxy
