// Owning handles of the C libraries that this folder uses.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/evp.h>
#include <zstd.h>

#include <memory>

namespace bloomwall::filter {

template <auto FreeFn>
struct FreeWith {
  template <typename T>
  void operator()(T* p) const noexcept {
    FreeFn(p);
  }
};
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using ZstdStream = std::unique_ptr<ZSTD_DStream, FreeWith<ZSTD_freeDStream>>;

}  // namespace bloomwall::filter
