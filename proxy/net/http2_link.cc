// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/http2_link.h"

#include <utility>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kGathered = std::size_t{128} * 1024;  // octets of frames for one send
constexpr std::size_t kKeptWire = std::size_t{16} * 1024;

}  // namespace

Http2Link::Http2Link(IoContext& io, Http2Connection::Role role, const Http2Connection::Limits& limits,
                     Http2Connection::Handler& handler, Owner& owner)
    : memory_(io.pool), connection_(role, limits, handler, memory_), owner_(owner) {
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
  flush_later();
  return bytes.size();
}

void Http2Link::flush() {
  if (transport_ == nullptr) return;
  while (transport_->is_open() && !transport_->write_failed() && transport_->backlog() == 0) {
    wire_.clear();
    connection_.write(wire_, kGathered);
    if (wire_.empty()) break;
    transport_->send(wire_);
  }
  if (wire_.capacity() > kKeptWire) wire_ = {};
  if (connection_.is_over() && transport_->backlog() == 0) return end();
  // Requests beyond what an origin takes at once wait as well, but not for the transport.
  const bool is_stuck = transport_->backlog() > 0 && connection_.has_much_to_write();
  is_stuck ? transport_->pause(PauseReason::peer_full) : transport_->resume(PauseReason::peer_full);
}

void Http2Link::end() {
  if (transport_ == nullptr) return;
  close();
  owner_.on_link_end();
}

void Http2Link::close() {
  if (std::exchange(transport_, nullptr) == nullptr) return;
  flush_.disarm();
  connection_.close_streams();
}

}  // namespace bloomwall::proxy
