// SPDX-License-Identifier: Apache-2.0

#include "proxy/io/tcp_transport.h"

#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

namespace bloomwall::proxy {

HangupWatch::HangupWatch(EventLoop& loop) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) return;
  ready_.assign(
      loop.base(), epoll_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<HangupWatch*>(self)->on_ready(); }, this);
  ready_.arm();
}

void HangupWatch::add(int fd, TcpTransport& socket) {
  epoll_event wanted{.events = EPOLLET, .data = {.ptr = &socket}};  // errors and hang-ups need not be asked for
  if (epoll_) ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted);
}

void HangupWatch::remove(int fd) {
  if (epoll_) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

// A socket that a callback closes is destroyed on a later turn, so the pointers stay valid, and on_hangup() does
// nothing for it. EPOLLHUP without EPOLLERR means that both sides have ended the connection in order.
void HangupWatch::on_ready() {
  std::array<epoll_event, 64> events;  // NOLINT: filled as far as it is used
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (const epoll_event& event : std::span(events).first(static_cast<std::size_t>(std::max(count, 0)))) {
    if ((event.events & EPOLLERR) != 0) static_cast<TcpTransport*>(event.data.ptr)->on_hangup();
  }
}

namespace {

constexpr std::size_t kMaxPieces = 64;

std::size_t total(std::span<const iovec> pieces) {
  std::size_t sum = 0;
  for (const iovec& piece : pieces) sum += piece.iov_len;
  return sum;
}

// How many octets the kernel took, or -errno.
ssize_t send_pieces(int fd, std::span<const iovec> pieces) {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());  // sendmsg does not write through it
  message.msg_iovlen = std::min(pieces.size(), kMaxPieces);
  for (;;) {
    // For one piece the shorter way into the kernel.
    const ssize_t sent = pieces.size() == 1 ? ::send(fd, pieces[0].iov_base, pieces[0].iov_len, kFlags)
                                            : ::sendmsg(fd, &message, kFlags);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

bool is_full(ssize_t result) { return result == -EAGAIN || result == -EWOULDBLOCK; }

}  // namespace

TcpTransport::TcpTransport(IoContext& io, UniqueFd fd, Handler& handler)
    : Transport(io, handler), fd_(std::move(fd)), outbox_(io.pool) {
  read_.assign(
      io.loop.base(), fd_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<TcpTransport*>(self)->on_readable(); }, this);
  write_.assign(
      io.loop.base(), fd_.get(), EV_WRITE | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<TcpTransport*>(self)->on_writable(); }, this);
  last_active_ = last_sent_ = monotonic_now();
  read_.arm();
}

TcpTransport::~TcpTransport() = default;

void TcpTransport::set_notices_reset(bool notices) {
  notices_reset_ = notices;
  if (!notices) unwatch();
}

// Reads are paused, so libevent would not report a reset.
void TcpTransport::watch() {
  if (!notices_reset_ || io_.hangups == nullptr || is_watched_) return;
  is_watched_ = true;
  io_.hangups->add(fd_.get(), *this);
}

void TcpTransport::unwatch() {
  if (is_watched_) io_.hangups->remove(fd_.get());
  is_watched_ = false;
}

void TcpTransport::on_hangup() {
  if (!is_watched_) return;  // closed, or read on, in this very turn
  fail_read(ECONNRESET);
}

void TcpTransport::close() {
  is_open_ = false;
  unwatch();
  read_.disarm();
  write_.disarm();
  fd_.reset();
  inbox_.clear();
  outbox_.clear();
  if (pipe_) io_.pipes->give(std::exchange(pipe_, {}));
  sink_ = nullptr;
}

bool TcpTransport::has_unseen() const {
  if (read_.is_due() || !inbox_.empty() || read_ended_) return true;
  int waiting = 0;
  return fd_ && ::ioctl(fd_.get(), FIONREAD, &waiting) == 0 && waiting > 0;
}

void TcpTransport::close_with_reset() {
  if (fd_) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close();
}

TcpTransport::Arrived TcpTransport::arrived() const {
  if (!inbox_.empty()) return Arrived::octets;
  if (read_ended_ || !fd_) return Arrived::end;
  char octet = 0;
  const ssize_t got = ::recv(fd_.get(), &octet, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return Arrived::octets;
  return got < 0 && is_full(-errno) ? Arrived::nothing : Arrived::end;
}

std::size_t TcpTransport::unconfirmed() const {
  int octets = 0;
  return fd_ && ::ioctl(fd_.get(), SIOCOUTQ, &octets) == 0 && octets > 0 ? static_cast<std::size_t>(octets) : 0;
}

// Half of what is free: the kernel counts the overhead of its own buffers, too. None behind octets that wait here: what
// it does not take of the next ones would wait with them, without a bound.
// Into an empty queue the kernel takes some octets however small its limit is, as it is under memory pressure: whoever
// waits for more room than the limit ever leaves would wait for ever.
std::size_t TcpTransport::kernel_room() const {
  constexpr std::size_t kOfEmptyQueue = std::size_t{4} * 1024;
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t size = sizeof memory;
  if (!fd_ || backlog() > 0) return 0;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_MEMINFO, memory.data(), &size) != 0) return 0;
  const std::uint32_t limit = memory[SK_MEMINFO_SNDBUF], queued = memory[SK_MEMINFO_WMEM_QUEUED];
  const std::size_t room = queued < limit ? (limit - queued) / 2 : 0;
  return queued == 0 ? std::max(room, kOfEmptyQueue) : room;
}

void TcpTransport::on_gate_opened() {
  unwatch();
  owes_delivery() ? read_.trigger() : read_.arm();
}

void TcpTransport::on_readable() {
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
    if (is_open_) gate_.open() && !read_ended_ ? read_.arm() : watch();
  } else if (!read_ended_) {
    receive();
  }
  tell_end();
  if (is_open_ && end_told_) watch();
}

bool TcpTransport::may_relay() const {
  return sink_ != nullptr && io_.pipes != nullptr && flows_ && inbox_.empty() && sink_->is_open_ &&
         sink_->write_error_ == 0 && sink_->backlog() == 0;
}

// False if there was no pipe: this piece is then copied.
bool TcpTransport::relay() {
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
ssize_t TcpTransport::pull(int socket) {
  pipe_ = io_.pipes->take();
  if (!pipe_) return -ENOBUFS;
  const ssize_t got = pipe_.fill_from(socket);
  if (got > 0) bytes_out_ += static_cast<std::size_t>(got);
  flush_pipe();
  return got;
}

void TcpTransport::flush_pipe() {
  while (!pipe_.empty()) {
    const ssize_t sent = pipe_.drain_to(fd_.get());
    if (is_full(sent)) return write_.arm();
    if (sent <= 0) return fail_write(static_cast<int>(-sent));
    last_active_ = last_sent_ = monotonic_now();
  }
  io_.pipes->give(std::exchange(pipe_, {}));
}

// The size of the next read. In the worst case all of it must be kept.
std::size_t TcpTransport::next_read() {
  const std::size_t size = std::min<std::size_t>(read_size_, io_.scratch.size());
  if (io_.pool.has_room(size)) return size;
  if (io_.pool.has_room(kSmallRead)) return kSmallRead;
  return std::min<std::size_t>(kSmallRead, handler_->ration());
}

void TcpTransport::receive() {
  if (may_relay() && relay()) return;
  const std::size_t size = next_read();
  if (size == 0) return;
  const ssize_t got = ::recv(fd_.get(), io_.scratch.data(), size, MSG_DONTWAIT);
  if (got < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fail_read(errno);
    return;
  }
  if (got == 0) {
    read_ended_ = true;
    read_.disarm();
    return;
  }
  const auto bytes = io_.scratch.first(static_cast<std::size_t>(got));
  last_active_ = monotonic_now();
  take(bytes);
  // The read size grows while reads are filled and the other side keeps up; it shrinks while the other side is slow,
  // because what was read then waits in memory.
  const bool keeps_up = bytes.size() == size && gate_.open();
  flows_ = keeps_up;
  read_size_ = keeps_up ? static_cast<std::uint32_t>(io_.scratch.size()) : kSmallRead;
}

// To the kernel as far as it takes it, the rest behind what waits.
void TcpTransport::send(std::span<const iovec> pieces) {
  if (!fd_ || write_error_ != 0) return;
  const std::size_t size = total(pieces);
  if (size == 0) return;
  bytes_out_ += size;
  std::size_t sent = 0;
  if (outbox_.empty() && !pipe_) {
    const ssize_t result = send_pieces(fd_.get(), pieces);
    if (result < 0 && !is_full(result)) return fail_write(static_cast<int>(-result));
    sent = result > 0 ? static_cast<std::size_t>(result) : 0;
    if (sent > 0) last_active_ = last_sent_ = monotonic_now();
  }
  if (sent < size) keep(pieces, sent);
}

void TcpTransport::keep(std::span<const iovec> pieces, std::size_t skip) {
  for (const iovec& piece : pieces) {
    const std::size_t gone = std::min(skip, piece.iov_len);
    skip -= gone;
    const std::span<const char> rest(static_cast<const char*>(piece.iov_base) + gone, piece.iov_len - gone);
    if (!outbox_.append(rest)) return fail_write(ENOBUFS);
  }
  write_.arm();
}

void TcpTransport::fail_write(int error) {
  write_error_ = error;
  outbox_.clear();
  if (pipe_) io_.pipes->give(std::exchange(pipe_, {}));
  write_.disarm();
  read_.trigger();  // told from there: the caller of send() must not find its world changed
}

void TcpTransport::on_writable() {
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
  tell_drained();
}

void TcpTransport::tell_drained() {
  if (shut_after_flush_) ::shutdown(fd_.get(), SHUT_WR);
  shut_after_flush_ = false;
  handler_->on_drained();
}

void TcpTransport::shut_write() {
  if (!fd_) return;
  if (backlog() == 0) {
    ::shutdown(fd_.get(), SHUT_WR);
  } else {
    shut_after_flush_ = true;
  }
}

}  // namespace bloomwall::proxy
