// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/http2_link.h"

#include <cerrno>
#include <utility>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kGathered = std::size_t{128} * 1024;  // octets of frames for one send
constexpr std::size_t kLeastGathered = BufferPool::Block::kBytes;
constexpr std::size_t kKeptWire = std::size_t{16} * 1024;

}  // namespace

Http2Link::Http2Link(IoContext& io, Http2Connection::Role role, const Http2Connection::Limits& limits,
                     Milliseconds head_time, Http2Connection::Handler& handler, Owner& owner)
    : pool_(io.pool),
      memory_(io.pool, *this),
      role_(role),
      connection_(role, limits, handler, memory_),
      owner_(owner),
      head_time_(head_time),
      head_deadline_(
          io.loop.timers(), [](void* self) { static_cast<Http2Link*>(self)->on_slow_head(); }, this),
      again_(io.loop.timers(), [](void* self) { static_cast<Http2Link*>(self)->read_on(); }, this) {
  flush_.assign(
      io.loop.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<Http2Link*>(self)->flush(); }, this);
}

Http2Link::~Http2Link() { flush_.disarm(); }

void Http2Link::begin(Transport& transport) {
  transport_ = &transport;
  transport.set_handler(*this);
  flush_later();
}

std::size_t Http2Link::on_data(std::span<const char> bytes) {
  connection_.feed(bytes, monotonic_now());
  watch_head();
  if (connection_.owes_window() && !again_.is_set()) again_.set(MemoryWait::kWait);
  flush_later();
  return bytes.size();
}

void Http2Link::watch_head() {
  if (!connection_.is_in_head()) return head_deadline_.clear();
  if (!head_deadline_.is_set()) head_deadline_.set(head_time_);
}

// A peer that does not even take the GOAWAY is not waited for a second time.
void Http2Link::on_slow_head() {
  if (connection_.flood() != FrameBudget::Verdict::fine) return end();
  connection_.end_slow_head();
  head_deadline_.set(head_time_);
  flush_later();
}

// Asked while the pool is nearly spent.
std::size_t Http2Link::ration() {
  const bool is_due = std::exchange(has_waited_, false) || owner_.frees_others();
  if (is_due && pool_.left() > pool_.limit() / kShare) return MemoryWait::kLeastRead;
  if (is_within_share()) return MemoryWait::kLeastRead;
  is_waiting_ = true;
  transport_->pause(PauseReason::no_memory);
  again_.set(MemoryWait::kWait);
  return 0;
}

void Http2Link::reconsider() {
  if (!is_waiting_ || !is_within_share()) return;
  is_waiting_ = false;
  transport_->resume(PauseReason::no_memory);
}

void Http2Link::read_on() {
  is_waiting_ = false;
  has_waited_ = true;
  connection_.pay_window();
  if (connection_.owes_window()) again_.set(MemoryWait::kWait);
  transport_->resume(PauseReason::no_memory);
}

void Http2Link::flush() {
  if (transport_ == nullptr) return;
  while (transport_->is_open() && !transport_->write_failed() && transport_->backlog() == 0) {
    wire_.clear();
    connection_.write(wire_, pool_.has_room(kGathered) ? kGathered : kLeastGathered);
    if (wire_.empty()) break;
    transport_->send(wire_);
    owner_.on_sent();
  }
  if (wire_.capacity() > kKeptWire) wire_ = {};
  if (connection_.is_over() && transport_->backlog() == 0) return end();
  // Requests beyond what an origin takes at once wait as well, but not for the transport.
  const bool is_stuck = transport_->backlog() > 0 && connection_.has_much_to_write();
  is_stuck ? transport_->pause(PauseReason::peer_full) : transport_->resume(PauseReason::peer_full);
}

// An origin that has gone may have answered before; its end comes behind that.
void Http2Link::on_write_failed(int error) {
  if (role_ == Http2Connection::Role::server || error == ENOBUFS) end();
}

void Http2Link::end() {
  if (transport_ == nullptr) return;
  close();
  owner_.on_link_end();
}

void Http2Link::close() {
  if (std::exchange(transport_, nullptr) == nullptr) return;
  flush_.disarm();
  head_deadline_.clear();
  again_.clear();
  is_waiting_ = false;
  connection_.close_streams();
}

}  // namespace bloomwall::proxy
