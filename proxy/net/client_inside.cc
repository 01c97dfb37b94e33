// Requests inside a tunnel: the client asked for a tunnel and speaks HTTP/1 through it. They are judged like any others, but
// there is one connection for them, that of the tunnel, as if the two ends were joined: it is never shared, nothing is
// dialled on behalf of a Host field, and when one end goes so does the other.
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "proxy/net/client_connection.h"

namespace bloomwall::proxy {

std::size_t ClientConnection::on_requests_inside(UpstreamPtr upstream, ClientInfo::Inside inside,
                                                 std::span<const char> held, std::span<const char> bytes) {
  state_.io.loop.graveyard().bury(std::move(tunnel_));
  info_.inside = std::make_unique<const ClientInfo::Inside>(std::move(inside));
  keep_inner(std::move(upstream));
  transport_->set_handler(*this);
  transport_->set_notices_reset(true);  // as before the tunnel
  phase_ = State::idle;
  // The beginning of a head, which is used up: none of it is known to be whole yet.
  if (!held.empty()) on_data(held);
  if (phase_ != State::idle && phase_ != State::reading_head) return bytes.size();
  return on_data(bytes);
}

UpstreamPtr ClientConnection::take_inner() { return std::move(inner_.upstream); }

void ClientConnection::keep_inner(UpstreamPtr upstream) {
  upstream->reused = inner_used_;
  inner_used_ = true;
  upstream->transport->set_handler(inner_);
  upstream->transport->resume(PauseReason::peer_full);
  inner_.upstream = std::move(upstream);
}

void ClientConnection::drop_inner() {
  if (inner_.upstream == nullptr) return;
  inner_.upstream->transport->close();
  state_.io.loop.graveyard().bury(std::move(inner_.upstream));
}

// What an origin says without being asked is no answer to anybody.
std::size_t ClientConnection::Inner::on_data(std::span<const char> bytes) {
  client_.on_inner_end();
  return bytes.size();
}
void ClientConnection::Inner::on_end() { client_.on_inner_end(); }
void ClientConnection::Inner::on_write_failed(int) { client_.on_inner_end(); }
void ClientConnection::Inner::on_failed(int) { client_.on_inner_end(); }

// While a request is answered here its end is awaited; there is none after it. One that has begun has nowhere to go.
void ClientConnection::on_inner_end() {
  drop_inner();
  if (phase_ == State::reading_head) return exchange_->on_client_end();  // which comes back as on_exchange_end()
  if (phase_ == State::idle) linger(false);
}

}  // namespace bloomwall::proxy
