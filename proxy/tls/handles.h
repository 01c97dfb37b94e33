// Owners of what OpenSSL's TLS hands out. No SSL_free(), SSL_CTX_free() or BIO_free() anywhere else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>

namespace bloomwall::proxy {

struct FreeSsl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

struct FreeSslContext {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeSslContext>;

}  // namespace bloomwall::proxy
