// One TLS connection without its socket: ciphertext in, plaintext out, and the other way round. No I/O, no clock.
//
//   feed(what the socket gave); while (read(room) gives octets) use them; send pending(), then sent()
//
// What is written before the handshake is done is held and leaves behind it: at most what the caller writes. Every call
// may leave something in pending(). After `failed` only pending() is of use: it may hold the alert that says why.
// Bounds: of ciphertext not yet read, what feed() was given and one record; of plaintext none.
// Thread: one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "proxy/tls/certificates.h"
#include "proxy/tls/octet_queue.h"
#include "proxy/tls/origin_handshake.h"
#include "proxy/tls/peer_certificates.h"
#include "proxy/tls/tls_context.h"

namespace bloomwall::proxy {

// What a session of TlsContext::for_intercepted() shows its client. The session takes references of its own.
struct TlsIdentity {
  X509* leaf = nullptr;
  EVP_PKEY* key = nullptr;              // the leaf's
  STACK_OF(X509) * chain = nullptr;     // sent behind the leaf, without the root; nullptr: none
  std::string_view session_context;     // generation of the CA and the name: tickets of another one are not accepted
  std::string_view alpn = kAlpnHttp11;  // spoken, in order of preference
};

class TlsSession {
 public:
  enum class State : std::uint8_t {
    open,    // handshaking or established
    ended,   // the peer said that it sends nothing more (close_notify)
    failed,  // nothing more can be read or written; why() says why
  };
  static std::unique_ptr<TlsSession> accept(const TlsContext& context);  // of for_listener()
  static std::unique_ptr<TlsSession> accept(const TlsContext& context,
                                            const TlsIdentity& identity);  // for_intercepted()
  // To an origin, with a context of for_origins().
  static std::unique_ptr<TlsSession> connect(const TlsContext& context, const TlsTarget& target);
  // To a parent, with a context of for_peers(). `host`: the name, or the address without brackets, that the peer's
  // certificate must hold.
  static std::unique_ptr<TlsSession> connect(const TlsContext& context, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  void feed(std::span<const char> ciphertext);
  // The two halves of it: the octets are taken; and, while the handshake is not done, it goes on, which is dear.
  void keep(std::span<const char> ciphertext) { in_.append(ciphertext); }
  void proceed() { handshake(); }
  std::size_t read(std::span<char> room);  // 0: nothing now, see state()
  void write(std::span<const char> plaintext);
  void write(std::span<const iovec> pieces);  // in as few records as they fit in
  void end();                                 // close_notify: nothing more will be written

  std::span<const char> pending() const { return out_.view(); }  // ciphertext for the socket
  void sent() { out_.clear(); }                                  // all of pending() was taken

  State state() const { return state_; }
  bool is_established() const { return established_; }
  bool is_client() const { return is_client_; }
  std::size_t held() const { return held_.size(); }  // plaintext that waits for the handshake
  std::size_t memory() const;                        // bytes, nearly: what OpenSSL holds for it, and what waits in it
  bool has_unread() const;  // ciphertext was fed that no read() has used up: a record that is not whole yet
  const std::string& why() const { return why_; }
  bool certificate_refused() const { return certificate_refused_; }  // the peer's, by us
  enum class Fault : std::uint8_t {
    none,
    certificate,  // the peer's was refused; see certificate_error()
    alert,        // the peer ended it; see alert_received()
    protocol,     // versions, ciphers, signatures, or no TLS at all
  };
  Fault fault() const;
  // Of Fault::protocol: OpenSSL's reason, SSL_R_UNSUPPORTED_PROTOCOL and such; 0: none of its.
  int fault_reason() const { return fault_reason_; }
  // The fatal alert that the peer sent (RFC 8446 6), 0: none.
  std::uint8_t alert_received() const { return alert_received_; }
  // Facts; those of the handshake are complete once it is established.
  std::string_view version() const;  // "1.2", "1.3"; empty before
  std::string_view cipher() const;   // "TLS_AES_128_GCM_SHA256"; empty before
  std::string_view alpn() const;     // what was agreed on; empty: nothing
  bool resumed() const;
  // Of origins only; none and false else.
  CertificateError certificate_error() const;
  bool client_certificate_asked() const;      // none was sent
  bool by_exception() const;                  // the certificate fails, and an exception accepts it
  bool without_scts() const;                  // a certificate of a public root without embedded SCTs
  bool chain_remembered() const;              // its signatures were not verified again
  X509* peer_certificate() const;             // nullptr: none yet
  const STACK_OF(X509) * peer_chain() const;  // as it was sent; nullptr: none, or resumed

 private:
  TlsSession(const TlsContext& context, bool is_client);
  static void on_message(int is_sent, int version, int type, const void* octets, std::size_t size, SSL* ssl,
                         void* self);
  void count_message();
  void measure(std::span<const unsigned char> message, bool is_tls13);
  void handshake();
  void encrypt(std::span<const char> plaintext);
  void note(int result);
  void fail(std::string why);

  std::unique_ptr<OriginHandshake> origin_;  // of connections to origins; outlives ssl_, whose callbacks use it
  std::string alpn_;                         // spoken with an intercepted client; the callback of its context reads it
  OctetQueue in_, out_;                      // ciphertext; they outlive ssl_, which holds their BIOs
  SslPtr ssl_;
  std::string held_, why_;
  State state_ = State::open;
  bool is_client_;
  bool established_ = false;
  bool end_wanted_ = false;
  bool certificate_refused_ = false;
  PeerCertificates peer_certificates_;
  bool renegotiation_asked_ = false, is_flooded_ = false;
  unsigned messages_ = 0, data_records_ = 0;  // see count_message()
  int fault_reason_ = 0;
  std::uint8_t alert_received_ = 0;
};

}  // namespace bloomwall::proxy
