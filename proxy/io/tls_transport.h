// TLS over another transport, which may itself be TLS: for listeners, to a parent, and inside a tunnel.
// Octets on this side are plaintext; backlog() counts ciphertext, and plaintext that waits for the handshake. A failed
// handshake is on_failed(EPROTO). An end without close_notify is a plain end from a client, whose requests are framed,
// and a failure (kEndedUntold) from a server. Records that TLS itself sends in reply (alerts, tickets) have a bound:
// ENOBUFS beyond it.
// OpenSSL's memory is accounted to the pool; a handshake for which there is none fails (ENOBUFS). Each step of the
// handshake waits for its turn (IoContext::steps), and what is below is not read meanwhile. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"
#include "proxy/io/transport.h"
#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {

class TlsTransport final : public Transport, Transport::Handler {
 public:
  // Starts the handshake. `lower` may be a transport whose on_data() is running: the octets that it leaves unused are
  // the first ciphertext.
  TlsTransport(IoContext& io, TransportPtr lower, std::unique_ptr<TlsSession> session, Transport::Handler& handler);
  ~TlsTransport() override;

  void close() override;
  void close_with_reset() override;
  Arrived arrived() const override;
  bool has_unseen() const override {
    return !inbox_.empty() || read_ended_ || step_.is_waiting() || lower_->has_unseen();
  }
  std::size_t unconfirmed() const override { return lower_->unconfirmed(); }
  std::size_t kernel_room() const override { return lower_->kernel_room(); }
  void set_notices_reset(bool notices) override { lower_->set_notices_reset(notices); }

  using Transport::send;
  void send(std::span<const iovec> pieces) override;
  std::size_t backlog() const override { return lower_->backlog() + session_->held(); }
  bool write_failed() const override { return lower_->write_failed(); }
  void shut_write() override;
  void shut_write_untold() override {
    if (is_open_) lower_->shut_write();
  }

  const TlsSession* tls() const override { return session_.get(); }
  Milliseconds last_active() const override { return lower_->last_active(); }
  Milliseconds last_sent() const override { return lower_->last_sent(); }

 private:
  void on_gate_closed() override;
  void on_gate_opened() override;
  // The lower transport's handler.
  std::size_t on_data(std::span<const char> ciphertext) override;
  std::size_t ration() override { return handler_->ration(); }
  void on_end() override;
  void on_drained() override;
  void on_write_failed(int error) override { handler_->on_write_failed(error); }
  void on_failed(int error) override;

  void step();
  void decrypt();
  void flush();
  void maybe_shut();
  void deliver_later();
  void release();

  TransportPtr lower_;
  std::unique_ptr<TlsSession> session_;
  Reservation memory_;
  Event deliver_;  // what was decrypted while the gate was closed
  StepQueue::Step step_{[](void* self) { static_cast<TlsTransport*>(self)->step(); }, this};
  bool shut_wanted_ = false;
};

}  // namespace bloomwall::proxy
