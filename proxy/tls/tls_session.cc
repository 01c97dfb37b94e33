// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/tls_session.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/ip.h"
#include "proxy/tls/wildcard_name.h"

namespace bloomwall::proxy {
namespace {

// Pieces that OpenSSL's ints can count.
int clamped(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

// Messages behind the handshake that bring nothing (key updates, tickets, attempts to renegotiate): so many in a row,
// and one more for so many records of data. Each costs keys that are derived or a session that is kept, and there is no
// bound in TLS (RFC 8446 section 4.6).
constexpr unsigned kMostMessages = 32, kRecordsForOne = 4;

// A message that is longer than OpenSSL takes. The long ones of a handshake are certificates (max_cert_list).
bool is_oversized(unsigned long code) {
  return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_EXCESSIVE_MESSAGE_SIZE;
}

// SSL_set_tlsext_host_name() without its cast.
bool send_name(SSL* ssl, std::string host) {
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

}  // namespace

TlsSession::TlsSession(const TlsContext& context, bool is_client)
    : ssl_(SSL_new(context.get())), is_client_(is_client) {
  if (ssl_ == nullptr) throw std::bad_alloc();
  SSL_set0_rbio(ssl_.get(), in_.new_bio());
  SSL_set0_wbio(ssl_.get(), out_.new_bio());
  SSL_set_msg_callback(ssl_.get(), on_message);
  SSL_set_msg_callback_arg(ssl_.get(), this);
}

std::unique_ptr<TlsSession> TlsSession::accept(const TlsContext& context) {
  std::unique_ptr<TlsSession> session(new TlsSession(context, false));
  SSL_set_accept_state(session->ssl_.get());
  return session;
}

std::unique_ptr<TlsSession> TlsSession::connect(const TlsContext& context, const std::string& host) {
  std::unique_ptr<TlsSession> session(new TlsSession(context, true));
  SSL* const ssl = session->ssl_.get();
  SSL_set_connect_state(ssl);
  const auto second = IpAddress::parse(host) ? std::nullopt : stand_in_for_wildcard(host);
  const bool named = IpAddress::parse(host) ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1
                                            : SSL_set1_host(ssl, host.c_str()) == 1 && send_name(ssl, host);
  const bool is_ready = named && (!second || SSL_add1_host(ssl, second->c_str()) == 1);
  if (!is_ready) throw std::bad_alloc();  // nothing else can go wrong with a host name
  session->handshake();                   // the ClientHello
  return session;
}

std::unique_ptr<TlsSession> TlsSession::connect(const TlsContext& context, const TlsTarget& target) {
  std::unique_ptr<TlsSession> session(new TlsSession(context, true));
  SSL* const ssl = session->ssl_.get();
  SSL_set_connect_state(ssl);
  session->origin_ = std::make_unique<OriginHandshake>(ssl, context.verifier(), target);
  session->handshake();  // the ClientHello
  return session;
}

std::unique_ptr<TlsSession> TlsSession::accept(const TlsContext& context, const TlsIdentity& identity) {
  auto session = accept(context);
  SSL* const ssl = session->ssl_.get();
  session->alpn_ = identity.alpn;
  // Whatever the length of the caller's text, OpenSSL takes 32 octets.
  std::array<unsigned char, SSL_MAX_SID_CTX_LENGTH> id{};
  unsigned int size = 0;
  const bool is_ready = SSL_use_cert_and_key(ssl, identity.leaf, identity.key, identity.chain, 1) == 1 &&
                        SSL_set_ex_data(ssl, 0, &session->alpn_) == 1 &&
                        EVP_Digest(identity.session_context.data(), identity.session_context.size(), id.data(), &size,
                                   EVP_sha256(), nullptr) == 1 &&
                        SSL_set_session_id_context(ssl, id.data(), size) == 1;
  if (!is_ready) session->fail(tls_error("the certificate and its key do not fit"));
  return session;
}

// A session that is freed without these marks is not resumable for OpenSSL, and it would spoil the one that is kept.
TlsSession::~TlsSession() {
  if (is_client_ && established_ && state_ != State::failed) {
    SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  }
}

// SSL_set_msg_callback(3): of each message and each alert, and of each record's header.
void TlsSession::on_message(int is_sent, int version, int type, const void* octets, std::size_t size, SSL*,
                            void* self) {
  auto& session = *static_cast<TlsSession*>(self);
  const std::string_view text(static_cast<const char*>(octets), size);
  constexpr std::string_view kNoRenegotiation("\x01\x64", 2);  // the alert: a warning, 100
  const bool is_refusal = is_sent == 1 && type == SSL3_RT_ALERT && text == kNoRenegotiation;
  session.renegotiation_asked_ = session.renegotiation_asked_ || is_refusal;
  const bool has_come = is_sent == 0 && type == SSL3_RT_HANDSHAKE;
  if (session.established_ && (has_come || is_refusal)) session.count_message();
  if (has_come) session.measure({static_cast<const unsigned char*>(octets), size}, version == TLS1_3_VERSION);
}

// OpenSSL shows a message before it parses it, and has no way to refuse one there. A list whose length is wrong is
// refused before its first certificate is parsed; so the length in OpenSSL's own buffer is made wrong.
void TlsSession::measure(std::span<const unsigned char> message, bool is_tls13) {
  const auto found = measure_certificates(message, is_tls13);
  if (!found) return;
  peer_certificates_ = *found;
  if (!found->is_too_large()) return;
  constexpr std::size_t kHeader = 4;
  const std::size_t length_at = kHeader + (is_tls13 ? 1U + message[kHeader] : 0U);
  auto* const length = const_cast<unsigned char*>(message.data()) + length_at;  // NOLINT: see above
  std::fill_n(length, 3, static_cast<unsigned char>(0xff));
}

// The rest of what was fed is no longer looked at: OpenSSL would go on until it is used up.
void TlsSession::count_message() {
  if (++messages_ <= kMostMessages) return;
  is_flooded_ = true;
  in_.clear();
}

void TlsSession::feed(std::span<const char> ciphertext) {
  keep(ciphertext);
  handshake();
}

void TlsSession::handshake() {
  if (state_ != State::open || established_) return;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return note(result);
  established_ = true;
  if (origin_ != nullptr && !alpn().empty() && !origin_->offered(alpn())) {
    return fail("the origin chose a protocol that was not offered");
  }
  encrypt(std::exchange(held_, {}));
  if (end_wanted_) end();
}

std::size_t TlsSession::read(std::span<char> room) {
  if (state_ != State::open || !established_ || room.empty()) return 0;
  ERR_clear_error();
  const int got = SSL_read(ssl_.get(), room.data(), clamped(room.size()));
  if (got > 0) {
    if (++data_records_ % kRecordsForOne == 0 && messages_ > 0) --messages_;
    return static_cast<std::size_t>(got);
  }
  note(got);
  if (state_ != State::open) return 0;
  if (origin_ != nullptr && renegotiation_asked_) fail("the origin asked for a renegotiation");
  if (is_flooded_) fail("a flood of messages that bring no data");
  return 0;
}

void TlsSession::write(std::span<const char> plaintext) {
  if (state_ == State::failed || end_wanted_) return;
  if (!established_) {
    held_.append(plaintext.data(), plaintext.size());
  } else {
    encrypt(plaintext);
  }
}

void TlsSession::write(std::span<const iovec> pieces) {
  std::array<char, SSL3_RT_MAX_PLAIN_LENGTH> record;  // NOLINT: filled as far as it is used
  std::size_t used = 0;
  for (const iovec& piece : pieces) {
    std::span<const char> rest(static_cast<const char*>(piece.iov_base), piece.iov_len);
    while (!rest.empty()) {
      if (used == 0 && rest.size() >= record.size()) {
        const std::size_t whole = rest.size() / record.size() * record.size();
        write(rest.first(whole));
        rest = rest.subspan(whole);
        continue;
      }
      const std::size_t taken = std::min(rest.size(), record.size() - used);
      std::memcpy(record.data() + used, rest.data(), taken);
      used += taken;
      rest = rest.subspan(taken);
      if (used == record.size()) write(std::span<const char>(record.data(), std::exchange(used, 0)));
    }
  }
  if (used > 0) write(std::span<const char>(record.data(), used));
}

void TlsSession::encrypt(std::span<const char> plaintext) {
  while (!plaintext.empty() && state_ != State::failed) {
    ERR_clear_error();
    const int taken = SSL_write(ssl_.get(), plaintext.data(), clamped(plaintext.size()));
    if (taken <= 0) return note(taken);
    plaintext = plaintext.subspan(static_cast<std::size_t>(taken));
  }
}

void TlsSession::end() {
  end_wanted_ = true;
  if (established_ && state_ != State::failed) SSL_shutdown(ssl_.get());
}

void TlsSession::note(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return;
    case SSL_ERROR_ZERO_RETURN:
      state_ = State::ended;
      return;
    default:
      break;
  }
  const unsigned long code = ERR_peek_last_error();
  const int alert = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET : 0;
  if (alert > 0 && alert <= UINT8_MAX) {
    alert_received_ = static_cast<std::uint8_t>(alert);
  } else if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
    fault_reason_ = ERR_GET_REASON(code);
  }
  const long verified = SSL_get_verify_result(ssl_.get());
  const bool is_too_large = peer_certificates_.is_too_large() || (!established_ && is_oversized(code));
  const std::string reason = tls_error("TLS failed");
  if (is_too_large) {
    certificate_refused_ = is_client_;
    if (origin_ != nullptr) origin_->refuse_size();
    return fail(words_of(CertificateError::too_large));
  }
  const bool is_origins = certificate_error() != CertificateError::none;
  certificate_refused_ = is_client_ && (verified != X509_V_OK || is_origins);
  if (is_origins) return fail(origin_->why());
  fail(certificate_refused_ ? X509_verify_cert_error_string(verified) : reason);
}

void TlsSession::fail(std::string why) {
  why_ = std::move(why);
  state_ = State::failed;
}

TlsSession::Fault TlsSession::fault() const {
  if (state_ != State::failed) return Fault::none;
  if (certificate_refused_) return Fault::certificate;
  return alert_received_ != 0 ? Fault::alert : Fault::protocol;
}

std::string_view TlsSession::version() const {
  if (!established_) return {};
  return SSL_version(ssl_.get()) == TLS1_3_VERSION ? "1.3" : "1.2";
}

std::string_view TlsSession::cipher() const {
  if (!established_) return {};
  const char* const name = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl_.get()));
  return name == nullptr ? std::string_view() : name;
}

std::string_view TlsSession::alpn() const {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
  return {reinterpret_cast<const char*>(chosen), size};
}

bool TlsSession::resumed() const { return SSL_session_reused(ssl_.get()) == 1; }

CertificateError TlsSession::certificate_error() const {
  return origin_ == nullptr ? CertificateError::none : origin_->error();
}

bool TlsSession::client_certificate_asked() const { return origin_ != nullptr && origin_->client_certificate_asked(); }

bool TlsSession::by_exception() const { return origin_ != nullptr && origin_->by_exception(); }
bool TlsSession::without_scts() const { return origin_ != nullptr && origin_->without_scts(); }
bool TlsSession::chain_remembered() const { return origin_ != nullptr && origin_->remembered(); }
X509* TlsSession::peer_certificate() const { return SSL_get0_peer_certificate(ssl_.get()); }
const STACK_OF(X509) * TlsSession::peer_chain() const { return SSL_get_peer_cert_chain(ssl_.get()); }

std::size_t TlsSession::memory() const {
  // Measured without certificates; OpenSSL frees empty record buffers (SSL_MODE_RELEASE_BUFFERS). Since 3.2 either
  // direction has a record layer of its own, of 6 KB: 3.0 had 39 KB and 9 KB at most where 3.5 has 56 KB and 24 KB.
  constexpr bool kHasLayers = OPENSSL_VERSION_PREREQ(3, 2);
  constexpr std::size_t kShakingHands = std::size_t{kHasLayers ? 64 : 48} * 1024;
  constexpr std::size_t kEstablished = std::size_t{kHasLayers ? 28 : 16} * 1024;
  return (established_ ? kEstablished : kShakingHands) + peer_certificates_.memory() + held_.capacity() +
         in_.capacity() + out_.capacity();
}

bool TlsSession::has_unread() const { return in_.size() > 0 || SSL_has_pending(ssl_.get()) == 1; }

}  // namespace bloomwall::proxy
