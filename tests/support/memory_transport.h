// Two ends of a connection that exists in memory alone, for tests of what speaks over a Transport: no socket, no
// kernel. Octets arrive at the other end on a later turn of the loop, in the order they were sent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "proxy/io/event_loop.h"
#include "proxy/io/transport.h"

namespace bloomwall::test {

class MemoryTransport final : public proxy::Transport {
 public:
  MemoryTransport(proxy::IoContext& io, Handler& handler) : Transport(io, handler) {
    wake_.assign(
        io.loop.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<MemoryTransport*>(self)->turn(); },
        this);
  }
  ~MemoryTransport() override { MemoryTransport::close(); }
  // Joins two that are not joined yet.
  static void join(MemoryTransport& a, MemoryTransport& b) {
    a.peer_ = &b;
    b.peer_ = &a;
  }
  // How many octets the other end takes in before what follows is backlog here.
  std::size_t room = SIZE_MAX;
  // Called with every send(), before anything leaves.
  std::function<void()> on_send = [] {};

  // What has arrived can be read still.
  void lack_memory() { fail_read(ENOBUFS); }
  void fail_write(int error) { handler_->on_write_failed(error); }

  void close() override { leave(false); }
  void close_with_reset() override { leave(true); }
  Arrived arrived() const override {
    if (!inbox_.empty() || !arriving_.empty()) return Arrived::octets;
    return read_ended_ || end_arrives_ || !is_open_ ? Arrived::end : Arrived::nothing;
  }
  bool has_unseen() const override { return owes_delivery() || !arriving_.empty() || end_arrives_; }
  std::size_t unconfirmed() const override { return 0; }
  std::size_t kernel_room() const override { return SIZE_MAX; }
  void set_notices_reset(bool) override {}

  using Transport::send;
  void send(std::span<const iovec> pieces) override {
    if (!is_open_ || peer_ == nullptr) return;
    on_send();
    for (const iovec& piece : pieces) {
      waiting_.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
      bytes_out_ += piece.iov_len;
    }
    pass_on();
  }
  std::size_t backlog() const override { return waiting_.size(); }
  bool write_failed() const override { return is_open_ && peer_ == nullptr; }
  void shut_write() override {
    shut_ = true;
    pass_on();
  }
  proxy::Milliseconds last_active() const override { return proxy::monotonic_now(); }
  proxy::Milliseconds last_sent() const override { return proxy::monotonic_now(); }

 private:
  void on_gate_opened() override { wake_.trigger(); }
  // As a socket is read: no more at once than there is room for.
  std::size_t next_read() {
    for (const std::size_t size : {kRead, kRead / 4}) {
      if (io_.pool.has_room(size)) return size;
    }
    return handler_->ration();
  }
  void pass_on() {
    if (peer_ == nullptr) return;
    const std::size_t free = room - std::min(room, peer_->arriving_.size());
    const std::size_t size = std::min(free, waiting_.size());
    peer_->arriving_.append(waiting_, 0, size);
    waiting_.erase(0, size);
    peer_->end_arrives_ = peer_->end_arrives_ || (shut_ && waiting_.empty());
    peer_->wake_.trigger();
  }
  void turn() {
    if (!is_open_) return;
    if (was_reset_) return fail_read(ECONNRESET);
    if (!gate_.open()) return;
    deliver_inbox();
    while (!arriving_.empty() && is_open_ && gate_.open()) {
      const std::size_t size = std::min(arriving_.size(), next_read());
      if (size == 0) break;  // the handler has paused it
      const std::string octets = arriving_.substr(0, size);
      arriving_.erase(0, size);
      take(octets);
    }
    if (peer_ != nullptr && !peer_->waiting_.empty()) {
      peer_->pass_on();
      if (peer_->waiting_.empty()) peer_->handler_->on_drained();
    }
    if (is_open_ && end_arrives_ && arriving_.empty()) read_ended_ = true;
    tell_end();
  }
  void leave(bool with_reset) {
    is_open_ = false;
    wake_.disarm();
    inbox_.clear();
    arriving_.clear();
    MemoryTransport* const peer = std::exchange(peer_, nullptr);
    if (peer == nullptr) return;
    peer->peer_ = nullptr;
    peer->was_reset_ = with_reset;
    peer->end_arrives_ = true;
    peer->wake_.trigger();
  }

  static constexpr std::size_t kRead = std::size_t{64} << 10;
  MemoryTransport* peer_ = nullptr;
  proxy::Event wake_;
  std::string arriving_, waiting_;  // on the way here; and from here, where there was no room
  bool shut_ = false, end_arrives_ = false, was_reset_ = false;
};

}  // namespace bloomwall::test
