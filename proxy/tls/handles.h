// Owners of what OpenSSL's TLS hands out. No SSL_free(), SSL_CTX_free() or BIO_free() anywhere else.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/handles.h"

namespace bloomwall::proxy {

using SslPtr = std::unique_ptr<SSL, FreeWith<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;
using SslSessionPtr = std::unique_ptr<SSL_SESSION, FreeWith<SSL_SESSION_free>>;
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using EvpKeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, FreeWith<X509_free>>;
using X509CrlPtr = std::unique_ptr<X509_CRL, FreeWith<X509_CRL_free>>;
using X509StorePtr = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;
using X509StoreContextPtr = std::unique_ptr<X509_STORE_CTX, FreeWith<X509_STORE_CTX_free>>;

// A stack and a reference to each certificate in it.
inline void free_x509_stack(STACK_OF(X509) * stack) noexcept { sk_X509_pop_free(stack, X509_free); }
using X509StackPtr = std::unique_ptr<STACK_OF(X509), FreeWith<free_x509_stack>>;

// Another reference to the same certificate.
inline X509Ptr share(X509* certificate) {
  X509_up_ref(certificate);
  return X509Ptr(certificate);
}

using X509ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;
using NameConstraintsPtr = std::unique_ptr<NAME_CONSTRAINTS, FreeWith<NAME_CONSTRAINTS_free>>;
using OctetStringPtr = std::unique_ptr<ASN1_OCTET_STRING, FreeWith<ASN1_OCTET_STRING_free>>;
using DigestContextPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;

struct FreeOctets {
  void operator()(unsigned char* octets) const noexcept { OPENSSL_free(octets); }
};
using OctetsPtr = std::unique_ptr<unsigned char, FreeOctets>;

}  // namespace bloomwall::proxy
