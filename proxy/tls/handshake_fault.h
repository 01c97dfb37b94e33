// Why a TLS handshake has failed, in words: one literal for each cause that an operator can tell apart, for the page,
// Proxy-Status and the access log. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bloomwall::proxy {

class TlsSession;

// Of a session with an origin that has failed, or was left, before it stood, for another reason than the certificate of
// either side.
std::string_view origin_fault(const TlsSession& tls);
// Of one with a client of the proxy's certificate authority.
std::string_view client_fault(const TlsSession& tls);

}  // namespace bloomwall::proxy
