// Owning aliases for the C handles of filter/file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <xxhash.h>

#include <memory>

#include "base/handles.h"

namespace bloomwall::filter {

using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free>>;

// What follows is a macro, or static where xxhash is compiled in.
struct FreeXxhState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};
using XxhStatePtr = std::unique_ptr<XXH3_state_t, FreeXxhState>;

struct FreeOctets {
  void operator()(void* bytes) const noexcept { OPENSSL_free(bytes); }
};
template <typename T>
using OctetsPtr = std::unique_ptr<T, FreeOctets>;

}  // namespace bloomwall::filter
