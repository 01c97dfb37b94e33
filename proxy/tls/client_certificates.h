// Certificates of clients that speak TLS to the proxy itself: who may vouch for them, which are revoked, and what
// groups know them by.
// Errors: one line that names the file, and where it can the line in it.
// Cost: verifying one 0.1 to 0.3 ms. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

// What a listener wants of its clients.
struct ClientCertificates {
  std::filesystem::path authorities;  // PEM, roots or what issues; empty: no certificate is asked for
  std::filesystem::path revoked;      // PEM, lists of each authority that issues for clients; empty: none is revoked
  bool required = false;              // no handshake without one
  bool is_asked() const { return !authorities.empty(); }
};

// Sets up a listener's context. One that is sent must be valid for clients, whether it is required or not. Tickets of
// other authorities or lists are not taken. Returns when the first list is out of date, in seconds since 1970; 0: there
// is none. From then on OpenSSL refuses what that list is about.
tl::expected<std::int64_t, std::string> ask_for_certificates(SSL_CTX* context, const ClientCertificates& wanted);

// Whether a context that was set up like that would accept it. `chain`: as it was sent; nullptr: not known.
bool is_client_certificate_valid(const SSL_CTX* context, X509* certificate, const STACK_OF(X509) * chain);

// "cn:NAME", "dns:NAME" in lower case, "uri:URI", "email:NAME": at most 64 of at most 255 octets, none with control
// octets.
std::vector<std::string> client_certificate_names(const X509* certificate);

}  // namespace bloomwall::proxy
