// What a client has proved on its connection so far: it changes with requests and reloads, while ClientInfo says who
// the client is and stays. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "proxy/auth/user.h"

namespace bloomwall::proxy {

class HelperConversation;  // proxy/auth/helper_pool.h

struct ClientLogin {
  // Of Decider::is_certificate_valid(), which alone changes it: by which generation of the rules the client's
  // certificate was verified, and the outcome.
  struct CertificateCheck {
    std::uint64_t verified_by = 0;
    bool is_valid = true;
  };
  CertificateCheck certificate = {};
  // Who has logged in by Negotiate, which counts for the connection (RFC 4559). Of UserCheck, which alone changes it.
  struct Negotiated {
    std::array<std::uint8_t, 32> key{};  // CredentialKey of the ticket
    UserPtr user;
  };
  std::optional<Negotiated> negotiated = {};
  // A login by Negotiate that needs another leg, which the next request may bring. Likewise of UserCheck.
  struct Negotiating {
    std::shared_ptr<const HelperConversation> conversation;  // Login::conversation
    unsigned legs = 0;                                       // there were
  };
  std::optional<Negotiating> negotiating = {};
};

}  // namespace bloomwall::proxy
