// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/origin_handshake.h"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "base/ip.h"

namespace bloomwall::proxy {
namespace {

constexpr int kSlot = 0;  // of SSL_set_ex_data()

}  // namespace

OriginHandshake& OriginHandshake::of(const SSL* ssl) {
  return *static_cast<OriginHandshake*>(SSL_get_ex_data(ssl, kSlot));
}

void OriginHandshake::install(SSL_CTX* context) {
  SSL_CTX_set_cert_verify_callback(
      context,
      [](X509_STORE_CTX* store_context, void*) {
        auto* const ssl =
            static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store_context, SSL_get_ex_data_X509_STORE_CTX_idx()));
        return of(ssl).verify(store_context, ssl);
      },
      nullptr);
  SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp);
  int (*const on_staple)(SSL*, void*) = [](SSL* ssl, void*) { return of(ssl).check_staple(ssl); };
  SSL_CTX_callback_ctrl(context, SSL_CTRL_SET_TLSEXT_STATUS_REQ_CB, reinterpret_cast<void (*)()>(on_staple));
  SSL_CTX_set_client_cert_cb(context, [](SSL* ssl, X509**, EVP_PKEY**) {
    of(ssl).client_certificate_asked_ = true;
    return 0;  // go on without
  });
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, [](SSL* ssl, SSL_SESSION* session) { return of(ssl).keep(ssl, session); });
}

OriginHandshake::OriginHandshake(SSL* ssl, std::shared_ptr<OriginVerifier> verifier, const TlsTarget& target)
    : verifier_(std::move(verifier)), name_(target.name), alpn_(target.alpn) {
  if (SSL_set_ex_data(ssl, kSlot, this) != 1) throw std::bad_alloc();
  // Empty names and those that OpenSSL does not take are refused when the certificate is verified.
  const bool has_sni = !name_.empty() && name_.size() <= TLSEXT_MAXLEN_host_name && !IpAddress::parse(name_);
  std::string sni = name_;
  if (has_sni && SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, sni.data()) != 1) {
    throw std::bad_alloc();
  }
  const auto* const alpn = reinterpret_cast<const unsigned char*>(alpn_.data());
  if (SSL_set_alpn_protos(ssl, alpn_.empty() ? nullptr : alpn, static_cast<unsigned int>(alpn_.size())) != 0) {
    throw std::bad_alloc();
  }
  if (target.at.empty()) return;
  session_key_ = target.at + ' ' + name_;
  const OriginSessions::Kept kept = verifier_->sessions().take(session_key_, verifier_->now());
  if (kept.session == nullptr || SSL_set_session(ssl, kept.session.get()) != 1) return;
  resumable_until_ = kept.until;
}

bool OriginHandshake::offered(std::string_view protocol) const {
  for (std::string_view rest = alpn_; !rest.empty();) {
    const auto size = static_cast<unsigned char>(rest.front());
    if (rest.substr(1, size) == protocol) return true;
    rest.remove_prefix(std::min(rest.size(), std::size_t{size} + 1));
  }
  return false;
}

int OriginHandshake::verify(X509_STORE_CTX* context, SSL* ssl) noexcept {
  X509_STORE* const store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl));
  verified_ = verifier_->verify(store, X509_STORE_CTX_get0_untrusted(context), name_);
  X509_STORE_CTX_set_error(context, verified_.error == CertificateError::none ? X509_V_OK : verified_.x509_error);
  return verified_.error == CertificateError::none ? 1 : 0;
}

// SSL_CTX_set_tlsext_status_cb(3): 1 go on, 0 refuse. Called without an answer too, and for resumed sessions.
int OriginHandshake::check_staple(SSL* ssl) noexcept {
  X509* const leaf = SSL_get0_peer_certificate(ssl);
  if (SSL_session_reused(ssl) == 1 || leaf == nullptr) return 1;
  unsigned char* answer = nullptr;
  const long size = SSL_ctrl(ssl, SSL_CTRL_GET_TLSEXT_STATUS_REQ_OCSP_RESP, 0, static_cast<void*>(&answer));
  const std::span<const unsigned char> octets(answer, size > 0 ? static_cast<std::size_t>(size) : 0);
  const CertificateError error = verifier_->check_staple(verified_, leaf, octets, name_);
  if (error == CertificateError::none) return 1;
  verified_.error = error;
  verified_.why = words_of(error);
  return 0;
}

// SSL_CTX_sess_set_new_cb(3): 0, the session stays OpenSSL's. Of an origin that asks for a client certificate
// none is kept: on resumption it would not ask, and it would stay unknown that only the client itself can answer.
int OriginHandshake::keep(SSL* ssl, SSL_SESSION* session) noexcept {
  if (session_key_.empty() || client_certificate_asked_ || SSL_SESSION_is_resumable(session) != 1) return 0;
  // A resumed session has no certificate that was verified now: it ends when the first one would have ended.
  if (SSL_session_reused(ssl) != 1) {
    resumable_until_ = std::min(verified_.not_after, verifier_->now() + OriginSessions::kLifetime);
  }
  verifier_->sessions().keep(session_key_, *session, resumable_until_);
  return 0;
}

}  // namespace bloomwall::proxy
