// A transport that is a connected, non-blocking socket on the loop.
//
// Reading: one recv a turn into the worker's scratch memory, so an idle one holds no buffer. The read event stays
// registered while reads are paused, and is removed from epoll only if octets arrive during the pause. So a request and
// its answer cost no epoll_ctl.
// Writing: one sendmsg; what the kernel does not take waits in pooled blocks.
// Relaying: large pieces go from this socket to another through a pipe (splice).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"
#include "proxy/io/pipe_pool.h"
#include "proxy/io/transport.h"

namespace bloomwall::proxy {

// Detects resets (RST) of sockets whose reads are paused: a client that leaves while its request is answered. libevent
// can't: it reports a reset only with read interest, and with read interest unread octets would be reported in every
// turn. So these sockets are in a second epoll instance, which reports errors and hang-ups only, each once
// (edge-triggered); that instance is one event of the loop.
// Cost: one epoll_ctl for add() and for remove(). Where epoll_ctl fails, resets are not noticed and timeouts end the
// connection later. Thread: the loop's.

class TcpTransport;

class HangupWatch {
 public:
  explicit HangupWatch(EventLoop& loop);
  HangupWatch(const HangupWatch&) = delete;
  HangupWatch& operator=(const HangupWatch&) = delete;

  // Calls TcpTransport::on_hangup() when the connection is reset; if it was reset before, on a later turn. A connection
  // that was ended in order (FIN), by one side or both, does not count. Remove it before the descriptor is closed: a
  // child between vfork() and exec() has that, too, and epoll goes on until the child has closed it.
  void add(int fd, TcpTransport& socket);
  void remove(int fd);

 private:
  void on_ready();
  UniqueFd epoll_;
  Event ready_;
};

class TcpTransport final : public Transport {
 public:
  // Starts reading; the socket must be non-blocking and have TCP_NODELAY.
  TcpTransport(IoContext& io, UniqueFd fd, Handler& handler);
  ~TcpTransport() override;

  void close() override;
  void close_with_reset() override;
  Arrived arrived() const override;
  bool has_unseen() const override;
  std::size_t unconfirmed() const override;
  std::size_t kernel_room() const override;
  void set_notices_reset(bool notices) override;
  void on_hangup();  // the HangupWatch's

  using Transport::send;
  void send(std::span<const iovec> pieces) override;
  std::size_t backlog() const override { return pipe_.size() + outbox_.size(); }
  bool write_failed() const override { return write_error_ != 0; }
  void shut_write() override;

  void relay_to(Transport& sink) override { sink_ = sink.socket(); }
  void relay_nowhere() override { sink_ = nullptr; }
  TcpTransport* socket() override { return this; }

  Milliseconds last_active() const override { return last_active_; }
  Milliseconds last_sent() const override { return last_sent_; }

 private:
  static constexpr std::uint32_t kSmallRead = 64 * 1024;
  static constexpr std::size_t kLeastRelayed = std::size_t{16} * 1024;  // less is copied as cheaply

  void on_gate_opened() override;
  void on_readable();
  void on_writable();
  void receive();
  std::size_t next_read();
  bool may_relay() const;
  bool relay();
  ssize_t pull(int socket);
  void flush_pipe();
  void watch();
  void unwatch();
  void tell_drained();
  void keep(std::span<const iovec> pieces, std::size_t skip);
  void fail_write(int error);

  UniqueFd fd_;
  Event read_, write_;
  Chain outbox_;
  Pipe pipe_;  // holds what was relayed and not yet taken by the kernel; goes out before the outbox
  TcpTransport* sink_ = nullptr;
  Milliseconds last_active_{0}, last_sent_{0};
  std::uint32_t read_size_ = kSmallRead;
  int write_error_ = 0;
  bool flows_ = false;  // the last read was full and could go on at once
  bool write_error_told_ = false;
  bool shut_after_flush_ = false;
  bool notices_reset_ = false;
  bool is_watched_ = false;  // by the HangupWatch
};

}  // namespace bloomwall::proxy
