// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/credential_key.h"

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
}

// The context keeps its algorithm, so that nothing is looked up or allocated here.
CredentialKey CredentialHasher::key_of(Kind kind, std::string_view text) {
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
