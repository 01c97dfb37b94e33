// Owners of what OpenSSL's TLS hands out. No SSL_free(), SSL_CTX_free() or BIO_free() anywhere else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "base/handles.h"

namespace bloomwall::proxy {

using SslPtr = std::unique_ptr<SSL, FreeWith<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;

}  // namespace bloomwall::proxy
