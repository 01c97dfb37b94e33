// A person or a program that uses the proxy, as its credentials have shown. Immutable; shared by all requests of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bloomwall::proxy {

class CurrentTokens;  // proxy/state/tokens.h

// What a user has shown in place of a password.
struct TokenHeld {
  const CurrentTokens* tokens = nullptr;
  std::array<std::uint8_t, 32> digest{};
};

struct User {
  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
  std::string name;  // 1 to 255 octets, none of them a control octet
  std::vector<std::string> groups = {};
  // AuthenticationRules::helpers or tickets, of the helpers that know it; 0: it is in the users file
  std::uint64_t helpers = 0;
  std::uint64_t password = 0;           // of one in the users file: a digest of the hash in its line, never 0
  std::optional<TokenHeld> token = {};  // it counts as long as that is among the current tokens
  std::int64_t until = kForever;        // seconds since 1970; then its credentials are refused
};
using UserPtr = std::shared_ptr<const User>;

}  // namespace bloomwall::proxy
