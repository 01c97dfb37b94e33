// A transport that HTTP/2 is spoken over: gives the connection what comes, and sends what it has to say, all of one
// turn of the loop together. Frames are made no faster than the transport takes them, and a peer that does not take
// what is said to it is not read.
// Memory: nghttp2's counts as taken from the pool, and a connection that finds none is cut.
// Lifetime: the connection's streams must be gone, or told by close(), before it is destroyed. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "proxy/http2/http2_connection.h"
#include "proxy/io/handles.h"
#include "proxy/io/transport.h"
#include "proxy/net/memory_wait.h"

namespace bloomwall::proxy {

class Http2Link final : Transport::Handler {
 public:
  class Owner {
   public:
    // No stream moves any more, and each was told. Once; not from within a call of the owner's.
    virtual void on_link_end() = 0;

   protected:
    ~Owner() = default;
  };
  // For its connection's handler: on_output() is to call flush_later().
  Http2Link(IoContext& io, Http2Connection::Role role, const Http2Connection::Limits& limits,
            Http2Connection::Handler& handler, Owner& owner);
  ~Http2Link();

  void begin(Transport& transport);  // becomes its handler, and says what there is to say
  void flush_later() { flush_.trigger(); }
  void close();  // idempotent: the transport is not used any more, every stream is told, and the owner is not
  Http2Connection& connection() { return connection_; }
  bool is_open() const { return transport_ != nullptr; }

 private:
  // What nghttp2 has allocated, counted in the pool.
  class PoolMemory final : public Http2Connection::Memory {
   public:
    explicit PoolMemory(BufferPool& pool) : counted_(pool) {}
    void take(std::size_t bytes) override {
      bytes_ += bytes;
      is_spent_ = !counted_.set(bytes_);
    }
    void give(std::size_t bytes) override {
      bytes_ -= bytes;
      is_spent_ = !counted_.set(bytes_);
    }
    bool is_spent() const override { return is_spent_; }

   private:
    Reservation counted_;
    std::size_t bytes_ = 0;
    bool is_spent_ = false;
  };

  std::size_t on_data(std::span<const char> bytes) override;
  std::size_t ration() override { return MemoryWait::kLeastRead; }  // what comes has windows as its bound
  void on_end() override { end(); }
  void on_drained() override { flush(); }
  void on_write_failed(int) override { end(); }
  void on_failed(int) override { end(); }
  void flush();
  void end();

  PoolMemory memory_;
  Http2Connection connection_;
  Owner& owner_;
  Transport* transport_ = nullptr;
  Event flush_;
  std::string wire_;
};

}  // namespace bloomwall::proxy
