// What came of credentials, and by what a client is told apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/units.h"
#include "proxy/auth/attempt_limits.h"
#include "proxy/auth/user.h"

namespace bloomwall::proxy {

using ClientKey = AttemptLimits::Key;  // an IPv4 address or an IPv6 /64

class HelperConversation;  // helper_pool.h

struct Login {
  enum class Result : std::uint8_t {
    accepted,
    more,       // Negotiate: another leg is needed
    refused,    // wrong, unknown or ended
    locked,     // too many were refused: nothing was checked
    unchecked,  // no room or no memory to check it
  };
  Result result = Result::refused;
  UserPtr user = nullptr;      // accepted
  Milliseconds locked_for{0};  // locked
  // more: what the client is to answer, in base64, and how the next leg is asked about.
  std::string token = {};
  std::shared_ptr<const HelperConversation> conversation = nullptr;
};

}  // namespace bloomwall::proxy
