// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/credential_key.h"

#include <cstring>
#include <stdexcept>

namespace bloomwall::proxy {

CredentialHasher::CredentialHasher(const Secret& secret)
    : sha256_(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context_(EVP_MD_CTX_new()) {
  if (sha256_ == nullptr || context_ == nullptr || EVP_DigestInit_ex2(context_.get(), sha256_.get(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL has no SHA-256");
  }
  for (std::size_t i = 0; i < inner_.size(); ++i) {
    const unsigned octet = i < secret.size() ? secret[i] : 0;
    inner_[i] = static_cast<std::uint8_t>(octet ^ 0x36U);
    outer_[i] = static_cast<std::uint8_t>(octet ^ 0x5cU);
  }
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    constexpr auto kOfSipKeys = static_cast<Kind>(0x80);  // none of the kinds that are named
    const auto octet = static_cast<char>(kind);
    const CredentialKey made = hmac(kOfSipKeys, {&octet, 1});
    std::memcpy(sip_keys_[kind].data(), made.data(), sizeof(SipKey));
  }
}

CredentialKey CredentialHasher::key_of(Kind kind, std::string_view text) {
  if (text.size() > kMostRemembered) return hmac(kind, text);
  const SipHash hash = siphash(sip_keys_[static_cast<std::size_t>(kind)], text);
  Remembered& place = remembered_[hash[0] % kRemembered];
  if (!place.is_set || place.hash != hash) place = {hash, hmac(kind, text), true};
  return place.key;
}

// The context keeps its algorithm, so that nothing is looked up here.
CredentialKey CredentialHasher::hmac(Kind kind, std::string_view text) {
  CredentialKey key{};
  EVP_MD_CTX* const context = context_.get();
  EVP_DigestInit_ex2(context, nullptr, nullptr);
  EVP_DigestUpdate(context, inner_.data(), inner_.size());
  EVP_DigestUpdate(context, &kind, sizeof kind);
  EVP_DigestUpdate(context, text.data(), text.size());
  EVP_DigestFinal_ex(context, key.data(), nullptr);
  EVP_DigestInit_ex2(context, nullptr, nullptr);
  EVP_DigestUpdate(context, outer_.data(), outer_.size());
  EVP_DigestUpdate(context, key.data(), key.size());
  EVP_DigestFinal_ex(context, key.data(), nullptr);
  return key;
}

}  // namespace bloomwall::proxy
