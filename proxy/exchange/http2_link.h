// A transport that HTTP/2 is spoken over: gives the connection what comes, and sends what it has to say, all of one
// turn of the loop together. Frames are made no faster than the transport takes them, and a peer that does not take
// what is said to it is not read. A header section that does not end in its time ends the connection.
// Memory: nghttp2's counts as taken from the pool, and a connection that finds none is cut. While the pool is nearly
// spent, a link is read only as long as what came over it and has not gone on holds less than its share: a part of
// what is left (Choudhury, Hahne: Dynamic queue length thresholds, 1998). So however many there are, they leave some,
// and one whose far side reads goes on. As long as half of the reserve is there, one over its share is read a little
// all the same, now and then, or at once where what is sent the other way waits for its windows: two directions that
// wait for each other come to an end. What stands before a window's update is bounded by the client's connection
// window.
// Lifetime: the connection's streams must be gone, or told by close(), before it is destroyed. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "proxy/http2/http2_connection.h"
#include "proxy/io/handles.h"
#include "proxy/io/transport.h"
#include "proxy/upstream/memory_wait.h"

namespace bloomwall::proxy {

class Http2Link final : Transport::Handler {
 public:
  class Owner {
   public:
    // No stream moves any more, and each was told. Once; not from within a call of the owner's.
    virtual void on_link_end() = 0;
    // Octets of the pool that hold what came over the link and has not gone on.
    virtual std::size_t held() const = 0;
    virtual void on_sent() = 0;  // what came over another link may have gone: reconsider() that
    // What the peer says here may free more than its link's share that came over the other one.
    virtual bool frees_others() const = 0;

   protected:
    ~Owner() = default;
  };
  static constexpr std::size_t kShare = 16;  // a link's is a kShare-th of what the pool has left

  // For its connection's handler: on_output() is to call flush_later(). `head_time`: for a header section to end.
  Http2Link(IoContext& io, Http2Connection::Role role, const Http2Connection::Limits& limits, Milliseconds head_time,
            Http2Connection::Handler& handler, Owner& owner);
  ~Http2Link();

  void begin(Transport& transport);  // becomes its handler, and says what there is to say
  void flush_later() { flush_.trigger(); }
  void reconsider();  // whether it is still over its share
  void close();       // idempotent: the transport is no longer used, every stream is told, and the owner is not
  Http2Connection& connection() { return connection_; }
  bool is_open() const { return transport_ != nullptr; }
  bool can_send() const { return is_open() && !transport_->write_failed(); }

 private:
  // What nghttp2 has allocated, counted in the pool.
  class PoolMemory final : public Http2Connection::Memory {
   public:
    PoolMemory(BufferPool& pool, const Http2Link& link) : pool_(pool), link_(link), counted_(pool, BufferKind::http2) {}
    void take(std::size_t bytes) override {
      bytes_ += bytes;
      is_spent_ = !counted_.set(bytes_, Bound::served);
    }
    void give(std::size_t bytes) override {
      bytes_ -= bytes;
      is_spent_ = !counted_.set(bytes_, Bound::served);
    }
    bool is_spent() const override { return is_spent_; }
    bool has_room(std::size_t bytes) const override { return pool_.has_room(bytes); }
    bool may_open() const override { return pool_.has_room(BufferPool::Block::kBytes) || link_.is_within_share(); }

   private:
    const BufferPool& pool_;
    const Http2Link& link_;
    Reservation counted_;
    std::size_t bytes_ = 0;
    bool is_spent_ = false;
  };

  std::size_t on_data(std::span<const char> bytes) override;
  std::size_t ration() override;
  void on_end() override { end(); }
  void on_drained() override { flush(); }
  void on_write_failed(int error) override;
  void on_failed(int) override { end(); }
  void flush();
  void end();
  void read_on();
  bool is_within_share() const { return owner_.held() <= pool_.left() / kShare; }
  void watch_head();
  void on_slow_head();

  const BufferPool& pool_;
  PoolMemory memory_;
  const Http2Connection::Role role_;
  Http2Connection connection_;
  Owner& owner_;
  Transport* transport_ = nullptr;
  Event flush_;
  const Milliseconds head_time_;
  Timer head_deadline_, again_;  // again_: of a link that is over its share
  bool is_waiting_ = false, has_waited_ = false;
  std::string wire_;
};

}  // namespace bloomwall::proxy
