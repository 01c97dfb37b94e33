// What one TLS connection to an origin knows beyond its OpenSSL handle: the target, what was found out about its
// certificate, and the session that it resumes. OpenSSL's callbacks come here.
//
// The chain is verified when it arrives; the stapled answer later, but before the handshake is done and before an octet
// of a request leaves. A client certificate is never sent. Tickets are kept under (at, name) of the target.
// Thread: that of its TlsSession, which owns it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "proxy/tls/handles.h"
#include "proxy/tls/origin_verifier.h"

namespace bloomwall::proxy {

// ALPN protocols as they stand on the wire: each behind its length.
inline constexpr std::string_view kAlpnHttp11{"\x08http/1.1"};
inline constexpr std::string_view kAlpnH2{"\x02h2"};
inline constexpr std::string_view kAlpnH2Http11{"\x02h2\x08http/1.1"};
inline constexpr std::string_view kAlpnHttp11H2{"\x08http/1.1\x02h2"};
inline constexpr std::string_view kProtocolH2{"h2"};  // as TlsSession::alpn() says it

struct TlsTarget {
  // Sent as SNI, and what the certificate must hold: an A-label in lower case without a dot at its end, or an address
  // as IpAddress writes it, which is not sent.
  std::string name;
  std::string at;                       // "host:port" that was dialled; empty: sessions are neither kept nor resumed
  std::string_view alpn = kAlpnHttp11;  // offered, in order of preference; empty: none
};

class OriginHandshake {
 public:
  // Of all sessions of the context, which must each have an OriginHandshake.
  static void install(SSL_CTX* context);

  OriginHandshake(SSL* ssl, std::shared_ptr<OriginVerifier> verifier, const TlsTarget& target);
  OriginHandshake(const OriginHandshake&) = delete;
  OriginHandshake& operator=(const OriginHandshake&) = delete;

  CertificateError error() const { return verified_.error; }
  const std::string& why() const { return verified_.why; }
  bool client_certificate_asked() const { return client_certificate_asked_; }
  bool by_exception() const { return verified_.by_exception; }
  bool remembered() const { return verified_.remembered; }
  bool without_scts() const { return verified_.without_scts; }
  bool offered(std::string_view protocol) const;
  void refuse_size() { verified_.error = CertificateError::too_large; }  // of the list of certificates, before verify()

 private:
  static OriginHandshake& of(const SSL* ssl);
  int verify(X509_STORE_CTX* context, SSL* ssl) noexcept;
  int check_staple(SSL* ssl) noexcept;
  int keep(SSL* ssl, SSL_SESSION* session) noexcept;

  std::shared_ptr<OriginVerifier> verifier_;  // outlives a reload
  std::string name_;
  std::string session_key_;  // empty: none are kept
  std::string alpn_;
  OriginVerifier::Verified verified_;
  std::int64_t resumable_until_ = 0;
  bool client_certificate_asked_ = false;
};

}  // namespace bloomwall::proxy
