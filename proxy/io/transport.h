// One end of a bidirectional connection: TCP (tcp_transport.h), TLS over any other transport (tls_transport.h), and in
// tests a pair in memory. It pushes arriving octets to its handler, sends at once, and queues what the lower layer does
// not take.
//
// Reading: octets that the handler does not use are kept here and offered again after resume(). None are offered while
// the gate is closed.
// Writing: send() tries to send at once; the rest waits in pooled blocks.
// Bounds: a handler that pauses the other side while backlog() > 0 keeps the queue below one read plus framing.
// While the pool has no room for a read, the handler bounds its size (ration()).
// Errors: a broken write drops the queue and is reported once by on_write_failed(), on a later turn; reading goes on,
// because the peer may have answered before it reset. A broken read is reported by on_failed(), once, and closes.
// Lifetime: callbacks may close() the transport, put another over it (TlsTransport), or schedule its owner for
// deletion; they must not destroy it. No callback comes after close().
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "proxy/io/chain.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

// Whether a transport may be read now: closed while any reason stands. A set of reasons and not a counter or a flag, so
// that one party's resume never undoes another's pause.
enum class PauseReason : std::uint8_t {
  peer_full = 1,  // what was read before has not left for the other side yet
  busy = 2,       // a message is being answered; the next one waits
  not_ready = 4,  // the other side is not connected yet, or its verdict is awaited
  no_memory = 8,  // limits.buffer_memory is nearly spent and the other side's kernel buffer is full
};

class PauseReasons {
 public:
  constexpr PauseReasons(PauseReason reason) : bits_(static_cast<std::uint8_t>(reason)) {}  // NOLINT: one is a set, too
  constexpr PauseReasons& operator|=(PauseReasons other) {
    bits_ = static_cast<std::uint8_t>(bits_ | other.bits_);
    return *this;
  }

 private:
  friend class ReadGate;
  std::uint8_t bits_;
};

constexpr PauseReasons operator|(PauseReasons a, PauseReasons b) { return a |= b; }
constexpr PauseReasons operator|(PauseReason a, PauseReason b) { return PauseReasons(a) | PauseReasons(b); }

class ReadGate {
 public:
  constexpr bool pause(PauseReason reason) {  // both return whether the gate is open afterwards
    reasons_ = static_cast<std::uint8_t>(reasons_ | static_cast<std::uint8_t>(reason));
    return open();
  }
  constexpr bool resume(PauseReasons reasons) {
    reasons_ = static_cast<std::uint8_t>(reasons_ & ~static_cast<unsigned>(reasons.bits_));
    return open();
  }
  constexpr bool open() const { return reasons_ == 0; }

 private:
  std::uint8_t reasons_ = 0;
};

// on_failed(): TLS has ended without its word for it (close_notify), by a plain end of what is below. What came may be
// all, or was cut on the way.
inline constexpr int kEndedUntold = ECONNABORTED;

class EventLoop;
class HangupWatch;
class PipePool;
class StepQueue;
class TcpTransport;
class TlsSession;

// What the transports of one worker share.
struct IoContext {
  EventLoop& loop;
  BufferPool& pool;
  std::span<char> scratch;         // where every read goes; at least 64 KiB
  PipePool* pipes = nullptr;       // without one, every octet is copied
  HangupWatch* hangups = nullptr;  // without one, only reads and writes notice a reset
  StepQueue* steps = nullptr;      // without one, steps of TLS handshakes are made as they come
};

class Transport {
 public:
  class Handler {
   public:
    // Returns how many octets were used. Unused ones are offered again as soon as the gate is open. A handler that uses
    // none must pause or close first: with an open gate that is a failure (EPROTO).
    virtual std::size_t on_data(std::span<const char> bytes) = 0;
    // Called when the pool has no room for a read: the size of the next one, at most. 0: it has paused the transport.
    virtual std::size_t ration() { return SIZE_MAX; }
    virtual void on_established() {}              // TLS: the handshake is done
    virtual void on_relayed() {}                  // octets went to the sink of relay_to() unseen; look at its backlog
    virtual void on_end() = 0;                    // the peer's end, once all its octets were used
    virtual void on_drained() = 0;                // the backlog has gone to the kernel
    virtual void on_write_failed(int error) = 0;  // errno; nothing can be sent any more
    virtual void on_failed(int error) = 0;        // errno: reset or worse; the transport is closed already

   protected:
    ~Handler() = default;
  };

  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  void set_handler(Handler& handler) { handler_ = &handler; }
  bool is_open() const { return is_open_; }
  virtual void close() = 0;             // at once; what waits is dropped
  virtual void close_with_reset() = 0;  // the peer sees a reset and not an end: what was cut must not look whole

  void pause(PauseReason reason);
  void resume(PauseReasons reasons);
  const ReadGate& gate() const { return gate_; }

  enum class Arrived : std::uint8_t { nothing, octets, end };
  // What has come that the handler has not seen, asked of the kernel: one system call.
  virtual Arrived arrived() const = 0;
  // Whether there are octets or an end that the handler has not seen, octets in the kernel included; one system call.
  virtual bool has_unseen() const = 0;
  // Octets that were sent and not yet acknowledged by the peer's TCP, as they go over the wire; one system call.
  virtual std::size_t unconfirmed() const = 0;
  // How many octets the kernel's send buffer would take now, at least; one system call.
  virtual std::size_t kernel_room() const = 0;
  // Whether a reset is reported (on_failed()) at once also while reads are paused and earlier octets are unread, and
  // after the peer's end.
  virtual void set_notices_reset(bool notices) = 0;
  std::size_t unread() const { return inbox_.size(); }  // octets that arrived and were not used yet
  bool read_ended() const { return read_ended_; }

  virtual void send(std::span<const iovec> pieces) = 0;
  void send(std::string_view text);
  virtual std::size_t backlog() const = 0;  // octets that wait, as they go over the wire
  virtual bool write_failed() const = 0;
  virtual void shut_write() = 0;  // the end of our side, after all that was sent
  // Likewise, but TLS does not give its word for it: the peer decides whether that was all. Only once TLS stands.
  virtual void shut_write_untold() { shut_write(); }

  // From now on arriving octets are only passed on to `sink`, which must have no other writer. They still go through
  // on_data() until splice() is worth it: then, between two sockets, large pieces go directly to the sink, with
  // on_relayed() after each. Both transports must end together; close() ends the relay, too.
  virtual void relay_to(Transport& /*sink*/) {}
  virtual void relay_nowhere() {}                     // everything is shown again
  virtual TcpTransport* socket() { return nullptr; }  // where there is nothing but TCP: what the kernel can relay to

  virtual const TlsSession* tls() const { return nullptr; }  // the outermost one; nullptr: plain

  virtual Milliseconds last_active() const = 0;  // when octets last moved, either way
  virtual Milliseconds last_sent() const = 0;    // when the kernel last took some
  std::uint64_t bytes_in() const { return bytes_in_; }
  std::uint64_t bytes_out() const { return bytes_out_; }  // accepted by send(), on the wire or waiting

 protected:
  Transport(IoContext& io, Handler& handler) : io_(io), handler_(&handler), inbox_(io.pool) {}

  virtual void on_gate_closed() {}
  virtual void on_gate_opened() = 0;       // while it is open and its end was not told
  void take(std::span<const char> bytes);  // has arrived: to the handler, and what that does not use to the inbox
  void deliver_inbox();
  void tell_end();  // where it is time for that
  bool owes_delivery() const { return !inbox_.empty() || (read_ended_ && !end_told_); }
  void fail_read(int error);

  IoContext& io_;
  Handler* handler_;
  Chain inbox_;
  std::uint64_t bytes_in_ = 0, bytes_out_ = 0;
  ReadGate gate_;
  bool is_open_ = true;
  bool read_ended_ = false;  // the peer's end was seen
  bool end_told_ = false;    // and on_end() called

 private:
  std::size_t deliver(std::span<const char> bytes);
};
using TransportPtr = std::unique_ptr<Transport>;

}  // namespace bloomwall::proxy
