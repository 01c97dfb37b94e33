// Owning aliases for the C handles of filter/file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>

#include <memory>

namespace bloomwall::filter {

struct FreeDigestContext {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreeDigestContext>;

}  // namespace bloomwall::filter
