// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/stream.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMaxPieces = 64;
constexpr std::size_t kMostBacklog = std::size_t{4} << 20;  // of a secured stream; handlers keep to far less

std::size_t total(std::span<const iovec> pieces) {
  std::size_t sum = 0;
  for (const iovec& piece : pieces) sum += piece.iov_len;
  return sum;
}

// How many octets the kernel took, or -errno.
ssize_t send_pieces(int fd, std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());  // sendmsg does not write through it
  message.msg_iovlen = std::min(pieces.size(), kMaxPieces);
  for (;;) {
    const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

bool is_full(ssize_t result) { return result == -EAGAIN || result == -EWOULDBLOCK; }

}  // namespace

void Stream::open(UniqueFd fd, Handler& handler) {
  fd_ = std::move(fd);
  handler_ = &handler;
  read_.assign(
      io_.loop.base(), fd_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Stream*>(self)->on_readable(); }, this);
  write_.assign(
      io_.loop.base(), fd_.get(), EV_WRITE | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Stream*>(self)->on_writable(); }, this);
  last_active_ = last_sent_ = monotonic_now();
  read_.arm();
}

void Stream::secure(std::unique_ptr<TlsSession> session) {
  tls_ = std::move(session);
  flush_tls();
}

void Stream::set_notices_reset(bool notices) {
  notices_reset_ = notices;
  if (!notices) unwatch();
}

// Nobody waits for octets now, so nobody would learn of a reset.
void Stream::watch() {
  if (!notices_reset_ || io_.hangups == nullptr || is_watched_) return;
  is_watched_ = true;
  io_.hangups->add(fd_.get(), *this);
}

void Stream::unwatch() {
  if (is_watched_) io_.hangups->remove(fd_.get());
  is_watched_ = false;
}

void Stream::on_hangup() {
  if (!is_watched_) return;  // closed, or read on, in this very turn
  fail_read(ECONNRESET);
}

void Stream::close() {
  is_watched_ = false;
  read_.disarm();
  write_.disarm();
  fd_.reset();
  tls_memory_.set(0);
  inbox_.clear();
  outbox_.clear();
  if (pipe_) io_.pipes->give(std::exchange(pipe_, {}));
  sink_ = nullptr;
}

bool Stream::has_unseen() const {
  int waiting = 0;
  return has_news() || (fd_ && ::ioctl(fd_.get(), FIONREAD, &waiting) == 0 && waiting > 0);
}

void Stream::close_with_reset() {
  if (fd_) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close();
}

Stream::Arrived Stream::arrived() const {
  if (!inbox_.empty() || (tls_ != nullptr && tls_->has_unread())) return Arrived::octets;
  if (read_ended_ || !fd_) return Arrived::end;
  char octet = 0;
  const ssize_t got = ::recv(fd_.get(), &octet, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Arrived::octets;
  return got < 0 && is_full(-errno) ? Arrived::nothing : Arrived::end;
}

bool Stream::has_unconfirmed() const {
  int octets = 0;
  return fd_ && ::ioctl(fd_.get(), SIOCOUTQ, &octets) == 0 && octets > 0;
}

void Stream::resume(PauseReason reason) {
  if (gate_.open() || !gate_.resume(reason) || !fd_ || end_told_) return;
  unwatch();
  if (!inbox_.empty() || (read_ended_ && !end_told_)) {
    read_.trigger();
  } else if (!read_ended_) {
    read_.arm();
  }
}

void Stream::resume_all() {
  for (const PauseReason reason : {PauseReason::not_ready, PauseReason::peer_full, PauseReason::busy}) resume(reason);
}

void Stream::on_readable() {
  if (write_error_ != 0 && !write_error_told_) {
    write_error_told_ = true;
    handler_->on_write_failed(write_error_);
    if (!fd_) return;
  }
  if (!gate_.open()) {
    read_.disarm();  // asked for again by resume()
    watch();
    return;
  }
  if (!inbox_.empty()) {
    deliver_inbox();
  } else if (!read_ended_) {
    receive();
  }
  maybe_end();
}

// Offers bytes until the handler pauses, closes, or has used them all; says how many were used.
std::size_t Stream::deliver(std::span<const char> bytes) {
  std::size_t used = 0;
  const bool was_plain = tls_ == nullptr;
  while (used < bytes.size() && fd_ && gate_.open()) {
    const std::size_t taken = handler_->on_data(bytes.subspan(used));
    const bool secured = was_plain && tls_ != nullptr;
    if (taken == 0 && fd_ && gate_.open() && !secured) {  // a broken handler must not stop the loop
      close();
      handler_->on_failed(EPROTO);
    }
    used += taken;
    if (secured) break;  // the rest is ciphertext
  }
  return used;
}

void Stream::deliver_inbox() {
  while (!inbox_.empty() && fd_ && gate_.open()) {
    const std::size_t used = deliver(inbox_.front());
    if (!fd_) return;  // close() has emptied the inbox
    inbox_.consume(used);
  }
  if (!gate_.open() || read_ended_) return watch();
  read_.arm();
}

bool Stream::may_relay() const {
  return sink_ != nullptr && io_.pipes != nullptr && flows_ && tls_ == nullptr && inbox_.empty() && sink_->fd_ &&
         sink_->write_error_ == 0 && sink_->backlog() == 0 && sink_->tls_ == nullptr;
}

// False where no pipe was to be had: then this piece is copied.
bool Stream::relay() {
  const ssize_t got = sink_->pull(fd_.get());
  if (got == -ENOBUFS) return false;
  if (got < 0) {
    if (got != -EAGAIN) fail_read(static_cast<int>(-got));
    return true;
  }
  if (got == 0) {
    read_ended_ = true;
    read_.disarm();
    return true;
  }
  bytes_in_ += static_cast<std::size_t>(got);
  last_active_ = monotonic_now();
  flows_ = static_cast<std::size_t>(got) >= kLeastRelayed;
  handler_->on_relayed();
  return true;
}

// Takes over what the socket has, as far as a pipe holds it, and hands the kernel what it takes at once.
ssize_t Stream::pull(int socket) {
  pipe_ = io_.pipes->take();
  if (!pipe_) return -ENOBUFS;
  const ssize_t got = pipe_.fill_from(socket);
  if (got > 0) bytes_out_ += static_cast<std::size_t>(got);
  flush_pipe();
  return got;
}

void Stream::flush_pipe() {
  while (!pipe_.empty()) {
    const ssize_t sent = pipe_.drain_to(fd_.get());
    if (is_full(sent)) return write_.arm();
    if (sent <= 0) return fail_write(static_cast<int>(-sent));
    last_active_ = last_sent_ = monotonic_now();
  }
  io_.pipes->give(std::exchange(pipe_, {}));
}

void Stream::receive() {
  if (may_relay() && relay()) return;
  const std::size_t size = std::min<std::size_t>(read_size_, io_.scratch.size());
  const ssize_t got = ::recv(fd_.get(), io_.scratch.data(), size, MSG_DONTWAIT);
  if (got < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fail_read(errno);
    return;
  }
  if (got == 0) {
    if (tls_ != nullptr && tls_->is_client()) return fail_read(ECONNRESET);
    read_ended_ = true;
    read_.disarm();
    return;
  }
  const auto bytes = io_.scratch.first(static_cast<std::size_t>(got));
  last_active_ = monotonic_now();
  tls_ == nullptr ? take(bytes) : decrypt(bytes);
  // A stream that fills its reads and whose other side keeps up is read in larger pieces; one that must wait in
  // smaller ones, since a read is what then lies in memory.
  const bool keeps_up = bytes.size() == size && gate_.open();
  flows_ = keeps_up;
  read_size_ = keeps_up ? static_cast<std::uint32_t>(io_.scratch.size()) : kSmallRead;
}

void Stream::take(std::span<const char> bytes) {
  const bool was_plain = tls_ == nullptr;
  bytes_in_ += bytes.size();
  const std::size_t used = inbox_.empty() ? deliver(bytes) : 0;
  if (!fd_ || used == bytes.size()) return;
  if (was_plain && tls_ != nullptr) {  // the handler has found where TLS begins
    bytes_in_ -= bytes.size() - used;
    return decrypt(bytes.subspan(used));
  }
  if (!inbox_.append(bytes.subspan(used))) fail_read(ENOBUFS);
}

void Stream::decrypt(std::span<const char> bytes) {
  const bool held = tls_->held() > 0;
  tls_->feed(bytes);  // a copy: the scratch memory is free for what it decrypts to
  flush_tls();
  if (held && backlog() == 0) tell_drained();
  while (fd_) {
    const std::size_t got = tls_->read(io_.scratch);
    flush_tls();
    if (!fd_) return;
    if (!tls_memory_.set(tls_->memory())) return fail_read(ENOBUFS);
    if (tls_->state() == TlsSession::State::failed) return fail_read(EPROTO);
    if (tls_->state() == TlsSession::State::ended) {
      read_ended_ = true;
      read_.disarm();
    }
    if (got == 0) return;
    take(io_.scratch.first(got));
  }
}

void Stream::fail_read(int error) {
  close();
  handler_->on_failed(error);
}

void Stream::maybe_end() {
  if (!fd_ || !read_ended_ || end_told_ || !inbox_.empty() || !gate_.open()) return;
  end_told_ = true;
  handler_->on_end();
  if (fd_) watch();
}

void Stream::send(std::string_view text) {
  const iovec piece{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  send(std::span(&piece, 1));
}

void Stream::send(std::span<const iovec> pieces) {
  if (!fd_ || write_error_ != 0) return;
  const std::size_t size = total(pieces);
  if (size == 0) return;
  bytes_out_ += size;
  if (tls_ == nullptr) return put(pieces);
  tls_->write(pieces);
  flush_tls();
}

// To the kernel as far as it takes it, the rest behind what waits.
void Stream::put(std::span<const iovec> pieces) {
  const std::size_t size = total(pieces);
  std::size_t sent = 0;
  if (outbox_.empty() && !pipe_) {
    const ssize_t result = send_pieces(fd_.get(), pieces);
    if (result < 0 && !is_full(result)) return fail_write(static_cast<int>(-result));
    sent = result > 0 ? static_cast<std::size_t>(result) : 0;
    if (sent > 0) last_active_ = last_sent_ = monotonic_now();
  }
  if (sent < size) keep(pieces, sent);
}

void Stream::flush_tls() {
  const std::span<const char> wire = tls_->pending();
  if (wire.empty()) return;
  if (write_error_ == 0) {
    const iovec piece{.iov_base = const_cast<char*>(wire.data()), .iov_len = wire.size()};
    put(std::span(&piece, 1));
  }
  tls_->sent();
  // What TLS itself answers is not asked for by any handler, so no handler stops reading because of it.
  if (outbox_.size() > kMostBacklog) fail_write(ENOBUFS);
}

void Stream::keep(std::span<const iovec> pieces, std::size_t skip) {
  for (const iovec& piece : pieces) {
    const std::size_t gone = std::min(skip, piece.iov_len);
    skip -= gone;
    const std::span<const char> rest(static_cast<const char*>(piece.iov_base) + gone, piece.iov_len - gone);
    if (!outbox_.append(rest)) return fail_write(ENOBUFS);
  }
  write_.arm();
}

void Stream::fail_write(int error) {
  write_error_ = error;
  outbox_.clear();
  if (pipe_) io_.pipes->give(std::exchange(pipe_, {}));
  write_.disarm();
  read_.trigger();  // told from there: the caller of send() must not find its world changed
}

void Stream::on_writable() {
  if (pipe_) {
    flush_pipe();
    if (pipe_ || write_error_ != 0) return;
  }
  while (!outbox_.empty()) {
    std::array<iovec, kMaxPieces> pieces;  // NOLINT: filled as far as it is used
    const std::size_t count = outbox_.pieces(pieces);
    const auto offered = std::span<const iovec>(pieces.data(), count);
    const ssize_t sent = send_pieces(fd_.get(), offered);
    if (is_full(sent)) return;
    if (sent < 0) return fail_write(static_cast<int>(-sent));
    outbox_.consume(static_cast<std::size_t>(sent));
    last_active_ = last_sent_ = monotonic_now();
    if (static_cast<std::size_t>(sent) < total(offered)) return;  // full again; the event stays armed
  }
  write_.disarm();
  if (backlog() == 0) tell_drained();  // else there is more behind the handshake
}

void Stream::tell_drained() {
  if (shut_after_flush_) ::shutdown(fd_.get(), SHUT_WR);
  shut_after_flush_ = false;
  handler_->on_drained();
}

void Stream::shut_write() {
  if (!fd_) return;
  if (tls_ != nullptr) {
    tls_->end();
    flush_tls();
  }
  if (backlog() == 0) {
    ::shutdown(fd_.get(), SHUT_WR);
  } else {
    shut_after_flush_ = true;
  }
}

}  // namespace bloomwall::proxy
