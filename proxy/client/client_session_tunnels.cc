// Tunnels of a client, what is inside them, and TLS that the proxy ends (declared in client_session.h).
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>

#include "proxy/client/client_session.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/io/tls_transport.h"

namespace bloomwall::proxy {

void ClientSession::become_tunnel(UpstreamPtr upstream, TunnelStart start) {
  start.client_sent_before = sent_before_;
  start.client_received_before = transport_->bytes_in() - transport_->unread() - head_->bytes;
  end_request();
  bound_.drop();
  enter(State::tunnelling);
  timer_.clear();                        // the tunnel has its own timeout
  transport_->set_notices_reset(false);  // octets received before a reset still go to the other side
  std::unique_ptr<TunnelPeek> peek = hello_ != nullptr ? hello_->take_peek() : nullptr;
  hello_.reset();
  tunnel_ = std::make_unique<Tunnel>(worker_, *this, std::move(upstream), std::move(start), std::move(peek));
  tunnel_->begin();
}

std::size_t ClientSession::on_requests_inside(UpstreamPtr upstream, ClientInfo::Inside inside,
                                              std::span<const char> held, std::span<const char> bytes) {
  worker_.io.loop.deferred().delete_later(std::move(tunnel_));
  info_.inside = std::make_unique<const ClientInfo::Inside>(std::move(inside));
  if (inner_ == nullptr) inner_ = std::make_unique<InnerOrigin>(*this);
  keep_inner(std::move(upstream));
  transport_->set_handler(*this);
  transport_->set_notices_reset(true);  // as before the tunnel
  enter(State::idle);
  // The octets are the beginning of a head that is not complete yet; all of them are used.
  if (!held.empty()) on_data(held);
  return on_data(bytes);
}

void ClientSession::on_interception(UpstreamPtr upstream, InterceptionStart start) {
  worker_.io.loop.deferred().delete_later(std::move(tunnel_));
  transport_->set_handler(*this);
  transport_->set_notices_reset(true);
  transport_->pause(PauseReason::busy);
  intercept(std::move(upstream), std::move(start));
}

// The ClientHello is still to come, unless the tunnel was an implicit one.
void ClientSession::show_page(InterceptionStart start) {
  end_request();
  std::unique_ptr<TunnelPeek> peek = hello_ != nullptr ? hello_->take_peek() : nullptr;
  hello_.reset();
  if (peek != nullptr) start.hello = peek->take_held(peek->held().size());
  if (!start.hello.empty()) transport_->pause(PauseReason::busy);
  intercept(nullptr, std::move(start));
}

void ClientSession::intercept(UpstreamPtr upstream, InterceptionStart start) {
  enter(State::intercepting);
  timer_.set(worker_.snapshot->settings.timeouts.request_header);  // of the ClientHello
  interception_ = std::make_unique<Interception>(worker_, *this, std::move(upstream), std::move(start));
  interception_->begin();
}

void ClientSession::on_intercepted(UpstreamPtr upstream, ClientInfo::Inside inside, std::unique_ptr<TlsSession> tls) {
  InterceptionLogPtr log = interception_->take_log();
  worker_.io.loop.deferred().delete_later(std::move(interception_));
  info_.inside = std::make_unique<const ClientInfo::Inside>(std::move(inside));
  if (inner_ == nullptr) inner_ = std::make_unique<InnerOrigin>(*this);
  if (upstream != nullptr && upstream->transport->tls()->alpn() == kProtocolH2) {
    http2_ = std::make_unique<Http2Session>(worker_, *this, std::move(upstream));
  } else if (upstream != nullptr) {
    keep_inner(std::move(upstream));
  }
  transport_->resume(PauseReason::busy);
  transport_ = std::make_unique<TlsTransport>(worker_.io, std::move(transport_), std::move(tls), *this);
  transport_->set_notices_reset(true);
  enter(State::idle);
  watch_ = std::make_unique<RefusalWatch>(worker_, info_, std::move(log));
  worker_.counters.intercepted_connections_active.add();
  is_arriving_ = true;
  set_idle(true);
  timer_.set(worker_.snapshot->settings.timeouts.tls_handshake);
  if (transport_->tls()->state() == TlsSession::State::failed) {  // its hello is refused by an alert
    end_watch(true);
    linger(true);
  }
}

void ClientSession::on_interception_undone(UpstreamPtr upstream, TunnelStart tunnel, std::string hello) {
  worker_.io.loop.deferred().delete_later(std::move(interception_));
  enter(State::tunnelling);
  timer_.clear();
  transport_->set_notices_reset(false);
  auto peek = std::make_unique<TunnelPeek>(worker_);
  if (peek->feed_before_tunnel(hello) != TunnelPeek::Result::pass) return close();  // no memory
  transport_->resume(PauseReason::busy);
  tunnel_ = std::make_unique<Tunnel>(worker_, *this, std::move(upstream), std::move(tunnel), std::move(peek));
  tunnel_->begin();
}

// Waits for the end of a local reply that is being sent; a request that has only begun is dropped.
void ClientSession::on_inner_end() {
  // With TLS 1.3 an origin says only after its handshake that it wants a client certificate: the request is told.
  note_inner_failure(info_.is_intercepted() && inner_ != nullptr ? inner_->tls() : nullptr);
  drop_inner();
  if (info_.inside->failure) return;
  if (state_ == State::reading_head || state_ == State::idle) linger(false);
}

// What its client would be answered as somebody who has not logged in: it starts anew, on a new connection.
void ClientSession::on_bound_end() {
  if (state_ == State::reading_head || state_ == State::idle) linger(false);
}

// `tls`: the origin's; nullptr: there is none.
void ClientSession::note_inner_failure(const TlsSession* tls) {
  if (tls == nullptr || tls->fault() != TlsSession::Fault::alert) return;
  ClientInfo::Inside inside = *info_.inside;
  inside.failure = origin_tls_error(*tls);
  info_.inside = std::make_unique<const ClientInfo::Inside>(std::move(inside));
}

void ClientSession::on_established() {
  if (watch_ != nullptr) watch_->on_established(*transport_->tls());
  if (transport_->tls()->alpn() == kProtocolH2) return begin_http2();
  if (http2_ != nullptr) close();  // else requests would be translated
}

void ClientSession::begin_http2() {
  enter(State::http2);
  timer_.clear();
  is_arriving_ = false;
  if (http2_ == nullptr) http2_ = std::make_unique<Http2Session>(worker_, *this, nullptr);
  http2_->begin();
}

void ClientSession::on_http2_idle(bool is_idle) {
  if (state_ != State::http2) return;
  if (watch_ != nullptr) {
    watch_->on_request(transport_->tls());
    watch_.reset();
  }
  set_idle(is_idle);
}

// The client goes on to open windows for what the kernel still has to deliver.
void ClientSession::on_http2_end() {
  worker_.io.loop.deferred().delete_later(std::move(http2_));
  end_watch(false);
  transport_->set_handler(*this);
  if (!transport_->is_open()) return close();
  linger(false);
}

std::size_t ClientSession::requests_running() const {
  const bool is_asking = state_ == State::reading_head || state_ == State::exchanging;
  return http2_ != nullptr ? http2_->requests() : std::size_t{is_asking};
}

void ClientSession::end_watch(bool is_by_us) {
  if (watch_ == nullptr) return;
  watch_->on_end(transport_->tls(), is_by_us, transport_->bytes_in() > 0);
  watch_.reset();
}

}  // namespace bloomwall::proxy
