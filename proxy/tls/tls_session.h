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

#include "proxy/tls/tls_context.h"

namespace bloomwall::proxy {

class TlsSession {
 public:
  enum class State : std::uint8_t {
    open,    // handshaking or established
    ended,   // the peer said that it sends nothing more (close_notify)
    failed,  // nothing more can be read or written; why() says why
  };
  static std::unique_ptr<TlsSession> accept(const TlsContext& context);
  // `host`: the name, or the address without brackets, that the peer's certificate must hold.
  static std::unique_ptr<TlsSession> connect(const TlsContext& context, const std::string& host);

  void feed(std::span<const char> ciphertext);
  std::size_t read(std::span<char> room);  // 0: nothing now, see state()
  void write(std::span<const char> plaintext);
  void write(std::span<const iovec> pieces);  // in as few records as they fit in
  void end();                                 // close_notify: nothing more will be written

  std::span<const char> pending() const;  // ciphertext for the socket
  void sent();                            // all of pending() was taken

  State state() const { return state_; }
  bool is_established() const { return established_; }
  bool is_client() const { return is_client_; }
  std::size_t held() const { return held_.size(); }  // plaintext that waits for the handshake
  std::size_t memory() const;                        // bytes, nearly: what OpenSSL holds for it, and what waits in it
  bool has_unread() const;  // ciphertext was fed that no read() has used up: a record that is not whole yet
  const std::string& why() const { return why_; }
  bool certificate_refused() const { return certificate_refused_; }  // the peer's, by us

 private:
  TlsSession(const TlsContext& context, bool is_client);
  void handshake();
  void encrypt(std::span<const char> plaintext);
  void note(int result);

  SslPtr ssl_;
  BIO* in_ = nullptr;  // these two are the session's
  BIO* out_ = nullptr;
  std::string held_, why_;
  State state_ = State::open;
  bool is_client_;
  bool established_ = false;
  bool end_wanted_ = false;
  bool certificate_refused_ = false;
};

}  // namespace bloomwall::proxy
