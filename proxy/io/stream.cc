// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMaxPieces = 64;

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
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  read_.assign(
      io_.loop.base(), fd_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Stream*>(self)->on_readable(); }, this);
  write_.assign(
      io_.loop.base(), fd_.get(), EV_WRITE | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Stream*>(self)->on_writable(); }, this);
  last_active_ = monotonic_now();
  read_.arm();
}

void Stream::close() {
  read_.disarm();
  write_.disarm();
  fd_.reset();
  inbox_.clear();
  outbox_.clear();
}

void Stream::close_with_reset() {
  if (fd_) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close();
}

void Stream::resume(PauseReason reason) {
  if (gate_.open() || !gate_.resume(reason) || !fd_) return;
  if (!inbox_.empty() || (read_ended_ && !end_told_)) {
    read_.trigger();
  } else if (!read_ended_) {
    read_.arm();
  }
}

void Stream::on_readable() {
  if (write_error_ != 0 && !write_error_told_) {
    write_error_told_ = true;
    handler_->on_write_failed(write_error_);
    if (!fd_) return;
  }
  if (!gate_.open()) {
    read_.disarm();  // asked for again by resume()
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
  while (used < bytes.size() && fd_ && gate_.open()) {
    const std::size_t taken = handler_->on_data(bytes.subspan(used));
    if (taken == 0 && fd_ && gate_.open()) {  // a broken handler must not stop the loop
      close();
      handler_->on_failed(EPROTO);
    }
    used += taken;
  }
  return used;
}

void Stream::deliver_inbox() {
  while (!inbox_.empty() && fd_ && gate_.open()) {
    const std::size_t used = deliver(inbox_.front());
    if (!fd_) return;  // close() has emptied the inbox
    inbox_.consume(used);
  }
  if (fd_ && gate_.open() && !read_ended_) read_.arm();
}

void Stream::receive() {
  const std::size_t size = std::min<std::size_t>(read_size_, io_.scratch.size());
  const ssize_t got = ::recv(fd_.get(), io_.scratch.data(), size, MSG_DONTWAIT);
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
    const int error = errno;
    close();
    handler_->on_failed(error);
    return;
  }
  if (got == 0) {
    read_ended_ = true;
    read_.disarm();
    return;
  }
  const auto bytes = io_.scratch.first(static_cast<std::size_t>(got));
  bytes_in_ += bytes.size();
  last_active_ = monotonic_now();
  const std::size_t used = deliver(bytes);
  if (!fd_) return;
  if (used < bytes.size() && !inbox_.append(bytes.subspan(used))) {
    close();
    handler_->on_failed(ENOBUFS);
    return;
  }
  // A stream that fills its reads and whose other side keeps up is read in larger pieces; one that must wait in
  // smaller ones, since a read is what then lies in memory.
  const bool keeps_up = bytes.size() == size && gate_.open();
  read_size_ = keeps_up ? static_cast<std::uint32_t>(io_.scratch.size()) : kSmallRead;
}

void Stream::maybe_end() {
  if (!fd_ || !read_ended_ || end_told_ || !inbox_.empty() || !gate_.open()) return;
  end_told_ = true;
  handler_->on_end();
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
  std::size_t sent = 0;
  if (outbox_.empty()) {
    const ssize_t result = send_pieces(fd_.get(), pieces);
    if (result < 0 && !is_full(result)) return fail_write(static_cast<int>(-result));
    sent = result > 0 ? static_cast<std::size_t>(result) : 0;
    if (sent > 0) last_active_ = monotonic_now();
  }
  if (sent < size) keep(pieces, sent);
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
  write_.disarm();
  read_.trigger();  // told from there: the caller of send() must not find its world changed
}

void Stream::on_writable() {
  while (!outbox_.empty()) {
    std::array<iovec, kMaxPieces> pieces;  // NOLINT: filled as far as it is used
    const std::size_t count = outbox_.pieces(pieces);
    const auto offered = std::span<const iovec>(pieces.data(), count);
    const ssize_t sent = send_pieces(fd_.get(), offered);
    if (is_full(sent)) return;
    if (sent < 0) return fail_write(static_cast<int>(-sent));
    outbox_.consume(static_cast<std::size_t>(sent));
    last_active_ = monotonic_now();
    if (static_cast<std::size_t>(sent) < total(offered)) return;  // full again; the event stays armed
  }
  write_.disarm();
  if (shut_after_flush_) ::shutdown(fd_.get(), SHUT_WR);
  shut_after_flush_ = false;
  handler_->on_drained();
}

void Stream::shut_write() {
  if (!fd_) return;
  if (outbox_.empty()) {
    ::shutdown(fd_.get(), SHUT_WR);
  } else {
    shut_after_flush_ = true;
  }
}

}  // namespace bloomwall::proxy
