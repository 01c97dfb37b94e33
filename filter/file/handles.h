// Owning aliases for the C handles of filter/file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <memory>

namespace bloomwall::filter {

struct FreeDigestContext {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreeDigestContext>;

struct FreeXxhState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};
using XxhStatePtr = std::unique_ptr<XXH3_state_t, FreeXxhState>;

struct FreeKey {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;

struct FreeBio {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;

struct FreeOctets {
  void operator()(void* bytes) const noexcept { OPENSSL_free(bytes); }
};
template <typename T>
using OctetsPtr = std::unique_ptr<T, FreeOctets>;

}  // namespace bloomwall::filter
