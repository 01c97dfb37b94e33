// Names credentials by a keyed hash, so that they can be remembered without being kept: HMAC-SHA-256 (RFC 2104) with a
// key that this process has drawn and that nobody else has.
// A client sends the same credentials with each request: the last names are remembered, by a hash with a key as well
// (siphash.h), never by what they name.
// Cost: about 250 ns for credentials of usual length, 30 ns for those that are remembered; no allocation. Not
// thread-safe: one for each thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/handles.h"
#include "proxy/auth/siphash.h"

namespace bloomwall::proxy {

using CredentialKey = std::array<std::uint8_t, 32>;

class CredentialHasher {
 public:
  using Secret = std::array<std::uint8_t, 32>;  // random
  // What is named; equal texts of two kinds have different keys.
  enum class Kind : std::uint8_t { basic = 1, user_name, negotiate, helper_user, helper_group };
  static constexpr std::size_t kRemembered = 64;        // names
  static constexpr std::size_t kMostRemembered = 1024;  // octets of a text

  explicit CredentialHasher(const Secret& secret);
  CredentialKey key_of(Kind kind, std::string_view text);

 private:
  struct Remembered {
    SipHash hash{};
    CredentialKey key{};
    bool is_set = false;
  };
  static constexpr std::size_t kKinds = 6;  // the first one is none
  CredentialKey hmac(Kind kind, std::string_view text);

  using Block = std::array<std::uint8_t, 64>;
  Block inner_{}, outer_{};  // the secret with the two pads of HMAC
  std::unique_ptr<EVP_MD, FreeWith<EVP_MD_free>> sha256_;
  std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>> context_;
  std::array<SipKey, kKinds> sip_keys_{};  // of each kind, made from the secret
  std::array<Remembered, kRemembered> remembered_{};
};

}  // namespace bloomwall::proxy
