// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/signer.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>

#include <array>
#include <string_view>
#include <utility>

#include "proxy/tls/tls_context.h"

namespace bloomwall::proxy {
namespace {

struct SigningKind {
  int algorithm;
  const EVP_MD* digest;
};

class KeySigner final : public Signer {
 public:
  KeySigner(EvpKeyPtr key, SigningKind kind) : key_(std::move(key)), kind_(kind) {}
  int algorithm() const override { return kind_.algorithm; }
  bool is_fast() const override { return kind_.algorithm == NID_ecdsa_with_SHA256; }

  tl::expected<std::string, std::string> sign(std::span<const unsigned char> octets) const override {
    ERR_clear_error();
    const DigestContextPtr context(EVP_MD_CTX_new());
    std::string out(static_cast<std::size_t>(EVP_PKEY_get_size(key_.get())), '\0');
    std::size_t size = out.size();
    if (context == nullptr || EVP_DigestSignInit(context.get(), nullptr, kind_.digest, nullptr, key_.get()) != 1 ||
        EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, octets.data(),
                       octets.size()) != 1) {
      return tl::unexpected(fmt::format("the CA's key does not sign: {}", tls_error("no reason given")));
    }
    out.resize(size);
    return out;
  }

 private:
  const EvpKeyPtr key_;
  const SigningKind kind_;
};

// The name of the key's curve; empty where it has none.
std::string curve_of(const EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  return EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) == 1 ? std::string(name.data(), size) : "";
}

}  // namespace

tl::expected<SignerPtr, std::string> make_signer(EvpKeyPtr key) {
  constexpr int kFewestRsaBits = 2048;
  const auto with = [&](SigningKind kind) { return std::make_shared<const KeySigner>(std::move(key), kind); };
  if (EVP_PKEY_is_a(key.get(), "RSA") == 1) {
    if (EVP_PKEY_get_bits(key.get()) >= kFewestRsaBits) return with({NID_sha256WithRSAEncryption, EVP_sha256()});
    return tl::unexpected(std::string("an RSA key of fewer than 2,048 bits; clients refuse what it signs"));
  }
  if (EVP_PKEY_is_a(key.get(), "EC") == 1) {
    const std::string curve = curve_of(key.get());
    if (curve == SN_X9_62_prime256v1 || curve == "P-256") return with({NID_ecdsa_with_SHA256, EVP_sha256()});
    if (curve == SN_secp384r1 || curve == "P-384") return with({NID_ecdsa_with_SHA384, EVP_sha384()});
    if (curve == SN_secp521r1 || curve == "P-521") return with({NID_ecdsa_with_SHA512, EVP_sha512()});
  }
  ERR_clear_error();
  return tl::unexpected(std::string("a kind of key that clients do not verify; take EC P-256, or RSA of 2,048 bits"));
}

}  // namespace bloomwall::proxy
