// SPDX-License-Identifier: Apache-2.0
#include "proxy/client/client_session.h"

#include <algorithm>
#include <utility>

#include "proxy/io/tcp_transport.h"
#include "proxy/upstream/addresses.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kSoon{50};  // until octets that have arrived are read

}  // namespace

ClientSession::ClientSession(WorkerState& state, Owner& owner, UniqueFd fd, const Endpoint& endpoint,
                             const std::string& listener, const ListenerRules& rules)
    : ClientSession(state, owner, std::make_unique<TcpTransport>(state.io, std::move(fd), *this), endpoint, listener,
                    rules) {}

ClientSession::ClientSession(WorkerState& state, Owner& owner, TransportPtr transport, const Endpoint& endpoint,
                             const std::string& listener, const ListenerRules& rules)
    : worker_(state),
      owner_(owner),
      info_{endpoint, endpoint.unmapped().ip(), &listener, &rules.address},
      transport_(std::move(transport)),
      timer_(
          state.io.loop.timers(), [](void* self) { static_cast<ClientSession*>(self)->on_timer(); }, this),
      bound_(state.io.loop, *this) {
  worker_.counters.client_connections_total.add();
  worker_.counters.client_connections_active.add();
  transport_->set_handler(*this);
  transport_->set_notices_reset(true);
  if (!rules.balancers.empty()) {
    preface_ = std::make_unique<Preface>();
    preface_->tls = rules.tls;
    enter(State::preface);
  } else if (rules.tls != nullptr) {
    secure(*rules.tls);
  }
  info_.is_secure = rules.tls != nullptr;
  info_.login->certificate.verified_by = worker_.snapshot->generation;
  is_arriving_ = preface_ != nullptr || rules.tls != nullptr;
  // Browsers open connections in advance: until the first octet it counts as idle.
  const conf::Timeouts& timeouts = worker_.snapshot->settings.timeouts;
  timer_.set(is_arriving_ ? timeouts.request_header : timeouts.idle);
  set_idle(true);
}

ClientSession::~ClientSession() {
  if (info_.is_intercepted()) worker_.counters.intercepted_connections_active.subtract();
  worker_.counters.client_connections_active.subtract();
  worker_.counters.client_bytes_received_total.add(transport_->bytes_in());
  worker_.counters.client_bytes_sent_total.add(transport_->bytes_out());
}

// --- arrival

std::size_t ClientSession::on_preface(std::span<const char> bytes) {
  const auto step = preface_->header.feed(bytes);
  if (step.result == ProxyHeaderReader::Result::need_more) return step.consumed;
  if (step.result == ProxyHeaderReader::Result::malformed) {
    worker_.counters.proxy_headers_malformed_total.add();
    close();
    return bytes.size();
  }
  if (const auto& source = preface_->header.source()) {
    info_.endpoint = Endpoint::from(source->address, source->port).unmapped();
    info_.address = info_.endpoint.ip();
  }
  enter(State::idle);
  const auto refusal = owner_.on_client_named(*this);
  const TlsContextPtr tls = std::move(preface_->tls);
  preface_.reset();
  if (refusal) {
    if (tls == nullptr) transport_->send(*refusal);
    linger(false);
  } else if (tls != nullptr) {
    secure(*tls);
  }
  return step.consumed;
}

void ClientSession::expect_redirected(const Endpoint& destination) {
  info_.destination =
      std::make_unique<const ClientInfo::Destination>(ClientInfo::Destination{destination, destination.ip()});
  enter(State::preface);
}

std::size_t ClientSession::on_redirected(std::span<const char> bytes) {
  if (hello_ != nullptr) return on_hello(bytes);
  if (ImplicitTunnel::is_own_connection(worker_, info_)) {
    refuse_redirected({ErrorKind::loop, "a connection of the proxy itself was redirected"});
    return bytes.size();
  }
  if (!is_tls_record(bytes.front())) {
    enter(State::idle);
    return on_data(bytes);
  }
  set_idle(false);
  timer_.set(worker_.snapshot->settings.timeouts.request_header);
  hello_ = std::make_unique<ImplicitTunnel>(worker_, info_);
  return on_hello(bytes);
}

std::size_t ClientSession::on_hello(std::span<const char> bytes) {
  if (hello_->feed(bytes)) open_implicit_tunnel();
  return bytes.size();
}

void ClientSession::open_implicit_tunnel() {
  if (hello_->error()) return refuse_redirected(*hello_->error());
  begin_exchange(&hello_->head());
  transport_->pause(PauseReason::busy);  // further octets belong to the tunnel
  GatheredWrite out(worker_.gather);
  exchange_->begin(out);
}

void ClientSession::refuse_redirected(const HttpError& error) {
  ImplicitTunnel::log_refusal(worker_, info_, hello_.get(), error, transport_->bytes_in());
  close();
}

// --- requests

void ClientSession::begin_request() {
  enter(State::reading_head);
  set_idle(false);
  past_.has_asked = true;
  is_arriving_ = false;
  timer_.set(worker_.snapshot->settings.timeouts.request_header);
  if (watch_ != nullptr) {
    watch_->on_request(transport_->tls());
    watch_.reset();
  }
  request_ = worker_.request_readers.take();
  sent_before_ = transport_->bytes_out();
}

std::size_t ClientSession::read_request(std::span<const char> bytes) {
  GatheredWrite out(worker_.gather);  // for the origin
  std::size_t used = 0;
  while (request_ != nullptr) {
    const auto step = request_->reader.feed(bytes.subspan(used));
    if (!step) {
      fail_request(step.error());
      return bytes.size();  // octets after a malformed request are not parsed
    }
    used += step->consumed;
    if (!take(*step, out)) break;
  }
  if (exchange_ != nullptr) exchange_->flush_upload(out);
  return used;
}

// False: stop reading for now.
bool ClientSession::take(const ReadStep& step, GatheredWrite& out) {
  switch (step.event) {
    case ReadEvent::head:
      begin_exchange(&request_->reader.head());
      if (!request_->count()) {
        fail_request(Exchange::kNoMemory);
        return false;
      }
      exchange_->begin(out);
      return request_ended() || transport_->gate().open();
    case ReadEvent::body:
      exchange_->on_body(out, step.body);
      return true;
    case ReadEvent::end:
      transport_->pause(PauseReason::busy);  // the next request waits for this one's answer
      exchange_->on_body_end(out);
      return false;
    case ReadEvent::need_more:
    case ReadEvent::interim:  // responses only
      break;
  }
  if (!request_->count()) fail_request(Exchange::kNoMemory);
  return false;
}

void ClientSession::begin_exchange(const RequestHead* head) {
  enter(State::exchanging);
  head_ = head;
  exchange_ = std::make_unique<Exchange>(worker_, *this);
  const conf::Timeouts& timeouts = worker_.snapshot->settings.timeouts;
  timer_.set(std::min(timeouts.body, timeouts.response_header));  // the first check of progress
}

void ClientSession::fail_request(const HttpError& error) {
  if (exchange_ == nullptr) begin_exchange(nullptr);
  exchange_->fail_request(error);
}

void ClientSession::end_request() {
  head_ = nullptr;
  worker_.request_readers.give(std::move(request_));
  if (exchange_ != nullptr) worker_.io.loop.deferred().delete_later(std::move(exchange_));
}

void ClientSession::finish(After after) {
  const bool is_last = head_ != nullptr && request_ended() && !head_->keep_alive;
  end_request();
  switch (after) {
    case After::keep:
      past_.was_answered = true;
      if (may_ask_again()) return go_idle();
      return linger(false);
    case After::close:
    case After::close_untold:
      return linger(is_last, after == After::close_untold);
    case After::cut:
      if (transport_->is_open()) transport_->close_with_reset();
      return close();
  }
}

bool ClientSession::may_ask_again() const {
  if (transport_->write_failed() || bound_.is_lost()) return false;
  return info_.inside == nullptr || info_.inside->has_no_origin || has_inner();
}

// --- the connection

void ClientSession::enter(State next) {
  const auto is_asking = [](State state) { return state == State::reading_head || state == State::exchanging; };
  if (is_asking(next) && !is_asking(state_)) worker_.requests_in_flight.add();
  if (!is_asking(next) && is_asking(state_)) worker_.requests_in_flight.subtract();
  state_ = next;
}

std::size_t ClientSession::on_data(std::span<const char> bytes) {
  switch (state_) {
    case State::preface:
      return info_.destination != nullptr ? on_redirected(bytes) : on_preface(bytes);
    case State::idle:
      if (!is_certificate_valid()) break;
      begin_request();
      return read_request(bytes);
    case State::reading_head:
    case State::exchanging:
      return read_request(bytes);
    case State::lingering:
      if (!ending_.drop(bytes.size())) close();
      break;
    case State::intercepting:
      if (!interception_->on_hello(bytes)) break;
      transport_->pause(PauseReason::busy);
      interception_->present();
      break;
    case State::tunnelling:
    case State::http2:
    case State::closed:
      break;
  }
  return bytes.size();
}

void ClientSession::go_idle() {
  enter(State::idle);
  set_idle(true);
  // If a drain has begun meanwhile: the answer had no "Connection: close" yet, and the next request may be on its way.
  timer_.set(worker_.idle_time(worker_.snapshot->settings.timeouts.idle));
  // A client that does not read its answers is not read either, else answers would pile up.
  if (transport_->backlog() > 0) transport_->pause(PauseReason::peer_full);
  ending_.watch(*transport_);
}

// The last answer is complete: shuts down the sending side, and closes when the client has ended its own side.
void ClientSession::linger(bool is_last, bool untold) {
  enter(State::lingering);
  set_idle(false);
  end_request();
  drop_inner();
  bound_.drop();
  if (!ending_.begin(*transport_, is_last, untold)) return close();
  timer_.set(transport_->backlog() == 0 ? LingeringClose::kWait : worker_.snapshot->settings.timeouts.idle);
}

void ClientSession::on_end() {
  end_watch(false);
  switch (state_) {
    case State::preface:
      if (hello_ != nullptr) return refuse_redirected({ErrorKind::bad_request, "the ClientHello is cut short"});
      return close();
    case State::idle:
      return linger(true);
    case State::reading_head:
      return linger(false);
    case State::exchanging:
      return exchange_->on_client_end();
    case State::lingering:
      if (transport_->backlog() == 0) close();
      return;
    case State::intercepting:
      return close();
    case State::tunnelling:
    case State::http2:
    case State::closed:
      return;
  }
}

void ClientSession::on_drained() {
  if (state_ == State::idle) return transport_->resume(PauseReason::peer_full);
  if (state_ == State::exchanging) return exchange_->on_client_drained();
  if (state_ != State::lingering) return;
  if (ending_.may_close(*transport_)) return close();
  timer_.set(LingeringClose::kWait);
}

void ClientSession::on_client_gone() {
  if (state_ == State::exchanging) return exchange_->on_client_gone();  // it calls finish()
  close();
}

void ClientSession::on_failed(int) {
  const TlsSession* const tls = transport_->tls();
  end_watch(tls != nullptr && tls->state() == TlsSession::State::failed && tls->alert_received() == 0);
  if (is_shaking_hands()) worker_.counters.tls_handshake_failures_total.add();
  on_client_gone();
}

void ClientSession::on_timer() {
  switch (state_) {
    case State::preface:
      if (hello_ != nullptr) return refuse_redirected({ErrorKind::request_timeout, "the ClientHello was too slow"});
      return close();
    case State::idle:
    case State::lingering:
      return on_idle_timer();
    case State::reading_head:
      if (request_->reader.at_start()) return linger(false);
      return fail_request({ErrorKind::request_timeout, "timeouts.request_header"});
    case State::exchanging: {
      const Milliseconds again = exchange_->check_progress();
      if (state_ == State::exchanging) timer_.set(again);
      return;
    }
    case State::intercepting:
      if (interception_->awaits_hello()) interception_->expire();
      return;
    case State::tunnelling:
    case State::http2:
    case State::closed:
      return;
  }
}

void ClientSession::on_idle_timer() {
  const conf::Config& settings = worker_.snapshot->settings;
  if (state_ == State::idle) {
    if (std::exchange(is_arriving_, false) && !worker_.draining) {
      if (!is_shaking_hands()) return timer_.set(settings.timeouts.idle);
      end_watch(true);
      return on_failed(0);
    }
    // Closing now would reset a request that has arrived.
    if (transport_->backlog() == 0 && transport_->has_unseen()) return timer_.set(kSoon);
  }
  if (const auto more = ending_.wait_for(*transport_, state_ == State::lingering, settings)) return timer_.set(*more);
  if (state_ == State::idle) worker_.counters.client_idle_timeouts_total.add();
  close();
}

void ClientSession::drain() {
  if (state_ == State::http2) return http2_->drain();
  if (state_ != State::idle && state_ != State::preface) return;
  if (is_arriving_) return;  // its timeout is running
  const conf::Timeouts& timeouts = worker_.snapshot->settings.timeouts;
  if (!worker_.has_successor()) return timer_.set(past_.has_asked ? WorkerState::kIdleDrain : timeouts.request_header);
  timer_.hasten(worker_.idle_time(timeouts.idle));
}

void ClientSession::close() {
  if (state_ == State::closed) return;
  end_watch(true);
  enter(State::closed);
  set_idle(false);
  timer_.clear();
  if (tunnel_ != nullptr) {
    tunnel_->close();
    worker_.io.loop.deferred().delete_later(std::move(tunnel_));
  }
  if (interception_ != nullptr) {
    interception_->cancel();
    worker_.io.loop.deferred().delete_later(std::move(interception_));
  }
  if (http2_ != nullptr) http2_->close();
  worker_.io.loop.deferred().delete_later(std::move(http2_));
  if (exchange_ != nullptr) exchange_->abandon();
  end_request();
  drop_inner();
  bound_.drop();
  transport_->close();
  owner_.on_client_closed(*this);  // last line: the owner schedules the deletion
}

}  // namespace bloomwall::proxy
