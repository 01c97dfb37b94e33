// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/tls_transport.h"

#include <cerrno>
#include <utility>

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostBacklog = std::size_t{4} << 20;  // bytes of ciphertext; handlers keep to far less

}  // namespace

TlsTransport::TlsTransport(IoContext& io, TransportPtr lower, std::unique_ptr<TlsSession> session,
                           Transport::Handler& handler)
    : Transport(io, handler),
      lower_(std::move(lower)),
      session_(std::move(session)),
      memory_(io.pool, BufferKind::tls) {
  deliver_.assign(
      io.loop.base(), -1, 0,
      [](evutil_socket_t, short, void* self) { static_cast<TlsTransport*>(self)->deliver_later(); }, this);
  lower_->set_handler(*this);
  is_open_ = lower_->is_open();
  flush();
}

TlsTransport::~TlsTransport() = default;

void TlsTransport::close() {
  release();
  lower_->close();
}

void TlsTransport::close_with_reset() {
  release();
  lower_->close_with_reset();
}

void TlsTransport::release() {
  is_open_ = false;
  deliver_.disarm();
  step_.cancel();
  memory_.set(0);
  inbox_.clear();
}

Transport::Arrived TlsTransport::arrived() const {
  if (!inbox_.empty() || session_->has_unread()) return Arrived::octets;
  if (read_ended_ || !is_open_) return Arrived::end;
  return lower_->arrived();
}

void TlsTransport::on_gate_closed() { lower_->pause(PauseReason::busy); }

// What was decrypted already comes first, and not from within the caller of resume().
void TlsTransport::on_gate_opened() {
  if (owes_delivery()) return deliver_.trigger();
  if (!read_ended_) lower_->resume(PauseReason::busy);
}

void TlsTransport::deliver_later() {
  deliver_inbox();
  tell_end();
  if (is_open_ && gate_.open() && !read_ended_) lower_->resume(PauseReason::busy);
}

std::size_t TlsTransport::on_data(std::span<const char> ciphertext) {
  session_->keep(ciphertext);  // a copy: the scratch memory is free for what it decrypts to
  if (session_->is_established() || io_.steps == nullptr) {
    step();
  } else {
    lower_->pause(PauseReason::busy);
    io_.steps->add(step_);
  }
  return ciphertext.size();
}

// A handshake waits while connections that idle are being closed to make room for it.
void TlsTransport::step() {
  if (!session_->is_established() && io_.steps != nullptr && io_.pool.is_overdrawn()) return io_.steps->add(step_);
  const bool held = session_->held() > 0;
  const bool was_established = session_->is_established();
  session_->proceed();
  flush();
  maybe_shut();
  if (held && is_open_ && backlog() == 0) handler_->on_drained();
  if (!was_established && session_->is_established() && is_open_) handler_->on_established();
  decrypt();
  tell_end();
  if (!was_established && is_open_ && gate_.open() && !read_ended_) lower_->resume(PauseReason::busy);
}

// As many records as the scratch memory takes are given on at once, so that they are sent by one call.
void TlsTransport::decrypt() {
  while (is_open_) {
    std::size_t got = 0, more = 0;
    while ((more = session_->read(io_.scratch.subspan(got))) > 0) got += more;
    flush();
    // Records that TLS itself sends in reply (alerts, key updates) apply no back-pressure to the handler, so they have
    // a bound of their own.
    const Bound bound = session_->is_established() ? Bound::served : Bound::limit;
    if (!memory_.set(session_->memory(), bound) || lower_->backlog() > kMostBacklog) return fail_read(ENOBUFS);
    if (got > 0) {
      take(io_.scratch.first(got));
      continue;
    }
    if (session_->state() == TlsSession::State::failed) return fail_read(EPROTO);
    if (session_->state() == TlsSession::State::ended && !read_ended_) {
      read_ended_ = true;
      lower_->pause(PauseReason::busy);  // nothing that follows is wanted
    }
    return;
  }
}

void TlsTransport::on_end() {
  if (session_->is_client()) return fail_read(kEndedUntold);
  read_ended_ = true;
  tell_end();
}

void TlsTransport::on_drained() {
  if (backlog() == 0) handler_->on_drained();  // else there is more behind the handshake
}

void TlsTransport::on_failed(int error) {
  release();
  handler_->on_failed(error);
}

void TlsTransport::send(std::span<const iovec> pieces) {
  if (!is_open_ || lower_->write_failed()) return;
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  if (size == 0) return;
  bytes_out_ += size;
  session_->write(pieces);
  flush();
}

void TlsTransport::flush() {
  const std::span<const char> wire = session_->pending();
  if (wire.empty()) return;
  lower_->send({wire.data(), wire.size()});
  session_->sent();
}

void TlsTransport::shut_write() {
  if (!is_open_) return;
  session_->end();
  flush();
  shut_wanted_ = true;
  maybe_shut();
}

// The end of TLS is followed by that of what is below, but not before what waits for the handshake.
void TlsTransport::maybe_shut() {
  if (!shut_wanted_ || session_->held() > 0) return;
  shut_wanted_ = false;
  lower_->shut_write();
}

}  // namespace bloomwall::proxy
