// A connected, non-blocking socket on the loop: pushes what arrives, writes at once, keeps what does not fit.
//
// Reading: one recv a turn into the worker's scratch memory, so an idle stream holds no buffer. What the handler does
// not use is kept here and offered again after resume(). The read event stays registered while reads are paused; only when
// bytes really arrive meanwhile is it taken off the kernel's list. So a request and its answer cost no epoll_ctl.
// Writing: send() goes to the kernel straight away in one sendmsg; what it does not take waits in pooled blocks.
// Relaying: what streams from here to another stream in large pieces goes through a pipe in the kernel (see relay_to()).
// Bounds: a handler that stops reading the other side while backlog() > 0 keeps the queue below one read plus framing.
// Errors: a broken write drops the queue and is reported once by on_write_failed(), on the next turn; reading goes on,
// because the peer may have answered before it reset. A broken read is reported by on_failed(), once, and closes.
// TLS: once secured, everything above is about plaintext; backlog() counts ciphertext, and what waits for the handshake.
// A failed handshake is on_failed(EPROTO). What ends without close_notify is an end from a client, which frames what it
// sends, and a failure (ECONNRESET) from a server.
// Lifetime: callbacks may close() the stream or bury its owner; they must not destroy it. None comes after close().
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "proxy/io/chain.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"
#include "proxy/io/hangup_watch.h"
#include "proxy/io/pipe_pool.h"
#include "proxy/io/read_gate.h"
#include "proxy/tls/tls_session.h"

namespace bloomwall::proxy {

// What the streams of one worker share.
struct IoContext {
  EventLoop& loop;
  BufferPool& pool;
  std::span<char> scratch;         // where every recv goes; at least 64 KiB
  PipePool* pipes = nullptr;       // without one, every octet is copied
  HangupWatch* hangups = nullptr;  // without one, a reset is noticed by who reads or writes
};

class Stream {
 public:
  class Handler {
   public:
    // Returns how many octets were used. Unused ones are offered again as soon as the gate is open; a handler that uses
    // none while the gate is open would be asked for ever, so it must pause or close first.
    virtual std::size_t on_data(std::span<const char> bytes) = 0;
    virtual void on_relayed() {}                  // octets went to the sink of relay_to() unseen; look at its backlog
    virtual void on_end() = 0;                    // the peer's FIN, once all its octets were used
    virtual void on_drained() = 0;                // the backlog has gone to the kernel
    virtual void on_write_failed(int error) = 0;  // nothing can be sent any more
    virtual void on_failed(int error) = 0;        // reset or worse; the stream is closed already

   protected:
    ~Handler() = default;
  };

  explicit Stream(IoContext& io) : io_(io), tls_memory_(io.pool), inbox_(io.pool), outbox_(io.pool) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void open(UniqueFd fd, Handler& handler);  // starts reading; the socket must be non-blocking and have TCP_NODELAY
  void set_handler(Handler& handler) { handler_ = &handler; }
  // From here on the peer speaks TLS: right after open(), or from within on_data(), whose unused octets are the first.
  void secure(std::unique_ptr<TlsSession> session);
  const TlsSession* tls() const { return tls_.get(); }  // nullptr: plain
  bool is_open() const { return static_cast<bool>(fd_); }
  void close();             // at once; what waits is dropped
  void close_with_reset();  // the peer sees a reset and not an end: what was cut must not look whole

  void pause(PauseReason reason) { gate_.pause(reason); }
  void resume(PauseReason reason);
  void resume_all();  // for whatever reason it was paused
  const ReadGate& gate() const { return gate_; }
  enum class Arrived : std::uint8_t { nothing, octets, end };
  // What has come that the handler has not seen, asked of the kernel: one system call.
  Arrived arrived() const;
  // Octets that were sent and whose receipt the peer's kernel has not confirmed yet: one system call.
  bool has_unconfirmed() const;
  // Whether a reset is a failure (on_failed()) at once even while reads are paused and octets that came before it wait, and
  // after the peer's FIN.
  void set_notices_reset(bool notices);
  void on_hangup();  // the HangupWatch's

  // Octets or an end are known to be there that the handler has not seen yet.
  bool has_news() const { return read_.is_due() || !inbox_.empty() || read_ended_; }
  // The same, or octets that the loop has not heard of yet; one system call.
  bool has_unseen() const;
  // Octets that arrived and were not used yet.
  std::size_t unread() const { return inbox_.size(); }

  void send(std::span<const iovec> pieces);
  void send(std::string_view text);
  std::size_t backlog() const { return pipe_.size() + outbox_.size() + (tls_ == nullptr ? 0 : tls_->held()); }
  bool write_failed() const { return write_error_ != 0; }
  void shut_write();  // FIN after all that was sent
  bool read_ended() const { return read_ended_; }

  // From now on the handler wants to see nothing of what arrives but pass it on to `sink`, where nobody else writes. It is
  // shown to on_data() all the same until it flows: then large pieces go straight to the sink, with on_relayed() after
  // each. Both streams must end together; close() ends it too.
  void relay_to(Stream& sink) { sink_ = &sink; }
  void relay_nowhere() { sink_ = nullptr; }  // everything is shown again

  Milliseconds last_active() const { return last_active_; }  // when octets last moved, either way
  Milliseconds last_sent() const { return last_sent_; }      // when the kernel last took some
  std::uint64_t bytes_in() const { return bytes_in_; }
  std::uint64_t bytes_out() const { return bytes_out_; }  // accepted by send(), on the wire or waiting

 private:
  static constexpr std::uint32_t kSmallRead = 64 * 1024;
  static constexpr std::size_t kLeastRelayed = std::size_t{16} * 1024;  // less is copied as cheaply

  void on_readable();
  void on_writable();
  void deliver_inbox();
  std::size_t deliver(std::span<const char> bytes);
  void receive();
  bool may_relay() const;
  bool relay();
  ssize_t pull(int socket);
  void flush_pipe();
  void take(std::span<const char> bytes);
  void decrypt(std::span<const char> bytes);
  void put(std::span<const iovec> pieces);
  void flush_tls();
  void fail_read(int error);
  void watch();
  void unwatch();
  void tell_drained();
  void maybe_end();
  void keep(std::span<const iovec> pieces, std::size_t skip);
  void fail_write(int error);

  IoContext& io_;
  Handler* handler_ = nullptr;
  UniqueFd fd_;
  std::unique_ptr<TlsSession> tls_;
  Reservation tls_memory_;
  Event read_, write_;
  Chain inbox_, outbox_;
  Pipe pipe_;  // holds what was relayed and not yet taken by the kernel; goes out before the outbox
  Stream* sink_ = nullptr;
  std::uint64_t bytes_in_ = 0, bytes_out_ = 0;
  Milliseconds last_active_{0}, last_sent_{0};
  std::uint32_t read_size_ = kSmallRead;
  int write_error_ = 0;
  ReadGate gate_;
  bool flows_ = false;       // the last read was full and could go on at once
  bool read_ended_ = false;  // FIN seen
  bool end_told_ = false;    // and on_end() called
  bool write_error_told_ = false;
  bool shut_after_flush_ = false;
  bool notices_reset_ = false;
  bool is_watched_ = false;  // by the HangupWatch
};

}  // namespace bloomwall::proxy
