// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/client_connection.h"

#include <algorithm>
#include <utility>

#include "proxy/io/tcp_transport.h"
#include "proxy/io/tls_transport.h"

namespace bloomwall::proxy {
namespace {

// A connection that is closed while octets from the client lie unread is reset by the kernel, and the reset may overtake
// the answer. So our side ends first and what still comes is dropped, for so long and so much.
constexpr Milliseconds kLinger{2000};
constexpr std::uint64_t kLingerBytes = std::uint64_t{1} << 20U;
constexpr Milliseconds kSoon{50};  // for octets that have arrived to be read

}  // namespace

ClientConnection::ClientConnection(WorkerState& state, ExchangePool& exchanges, Owner& owner, UniqueFd fd,
                                   const Endpoint& endpoint, const std::string& listener, const ListenerRules& rules)
    : state_(state),
      exchanges_(exchanges),
      owner_(owner),
      info_{endpoint, endpoint.unmapped().ip(), &listener},
      transport_(std::make_unique<TcpTransport>(state.io, std::move(fd), *this)),
      timer_(state.io.loop.timers(), [](void* self) { static_cast<ClientConnection*>(self)->on_timer(); }, this) {
  state_.counters.client_connections_total.add();
  state_.counters.client_connections_active.add();
  transport_->set_notices_reset(true);
  if (!rules.balancers.empty()) {
    greeting_ = std::make_unique<ProxyHeaderReader>();
    tls_after_greeting_ = rules.tls;
    phase_ = State::greeting;
  } else if (rules.tls != nullptr) {
    secure(*rules.tls);
  }
  is_arriving_ = greeting_ != nullptr || rules.tls != nullptr;
  // Browsers connect ahead of need: until the first octet it is idle like any other.
  const conf::Timeouts& timeouts = state_.snapshot->settings.timeouts;
  timer_.set(is_arriving_ ? timeouts.request_header : timeouts.idle);
  set_idle(true);
}

ClientConnection::~ClientConnection() {
  state_.counters.client_connections_active.subtract();
  state_.counters.client_bytes_received_total.add(transport_->bytes_in());
  state_.counters.client_bytes_sent_total.add(transport_->bytes_out());
}

void ClientConnection::secure(const TlsContext& context) {
  transport_ = std::make_unique<TlsTransport>(state_.io, std::move(transport_), TlsSession::accept(context), *this);
}

std::size_t ClientConnection::on_data(std::span<const char> bytes) {
  if (phase_ == State::lingering) {
    lingered_ += bytes.size();
    if (lingered_ > kLingerBytes) close();
    return bytes.size();
  }
  if (phase_ == State::greeting) return info_.destination != nullptr ? on_redirected(bytes) : on_greeting(bytes);
  if (phase_ == State::idle) {
    phase_ = State::reading_head;
    set_idle(false);
    has_asked_ = true;
    is_arriving_ = false;
    timer_.set(state_.snapshot->settings.timeouts.request_header);
    if (exchange_ == nullptr) exchange_ = exchanges_.take();
    exchange_->begin(*this);
  }
  return exchange_->on_client_data(bytes);
}

void ClientConnection::on_head_read() {
  phase_ = State::exchanging;
  const conf::Timeouts& timeouts = state_.snapshot->settings.timeouts;
  timer_.set(std::min(timeouts.body, timeouts.response_header));  // when to look first
}

void ClientConnection::on_exchange_end(Exchange::After after) {
  switch (after) {
    case Exchange::After::keep:
      if (may_ask_again()) return go_idle();
      return linger(false);
    case Exchange::After::close:
      return linger(exchange_->is_last());
    case Exchange::After::cut:
      if (transport_->is_open()) transport_->close_with_reset();
      return close();
  }
}

// Where the end has come meanwhile: a request that has arrived is answered still, since the answer before it did not say that
// it would not be.
bool ClientConnection::may_ask_again() const {
  if (transport_->write_failed() || (info_.inside != nullptr && !has_inner())) return false;
  return !state_.draining || transport_->has_unseen();
}

void ClientConnection::go_idle() {
  phase_ = State::idle;
  set_idle(true);
  if (transport_->unread() == 0) rest_exchange();
  timer_.set(state_.snapshot->settings.timeouts.idle);
  // Whoever asks without reading the answers is asked to wait, else answers would pile up here.
  if (transport_->backlog() > 0) transport_->pause(PauseReason::peer_full);
  rate_.begin(octets_taken());
}

void ClientConnection::set_idle(bool is_idle) {
  if (std::exchange(is_idle_, is_idle) != is_idle) owner_.on_client_idle(*this, is_idle);
}

// Everything was said that will be: ends our side, and the rest when the client has ended its own.
void ClientConnection::linger(bool is_last) {
  phase_ = State::lingering;
  set_idle(false);
  rest_exchange();
  drop_inner();
  close_when_drained_ = transport_->read_ended() || (is_last && !transport_->has_unseen());
  if (transport_->write_failed()) return close();
  // The close that follows says it as well, but not in TLS: there what ends without a word is cut.
  const bool is_over = close_when_drained_ && transport_->backlog() == 0;
  if (!is_over || transport_->tls() != nullptr) transport_->shut_write();
  if (close_when_drained_ && transport_->backlog() == 0) return close();
  timer_.set(transport_->backlog() == 0 ? kLinger : state_.snapshot->settings.timeouts.idle);
  rate_.begin(octets_taken());
  transport_->resume(PauseReason::peer_full);
}

void ClientConnection::on_tunnel(UpstreamPtr upstream, Tunnel::Start start) {
  phase_ = State::tunnelling;
  timer_.clear();                        // the tunnel has its own
  transport_->set_notices_reset(false);  // what was sent before it still goes to the other side
  rest_exchange();
  tunnel_ = std::make_unique<Tunnel>(state_, *this, std::move(upstream), std::move(start));
  if (hello_ != nullptr) relay_hello();
}

void ClientConnection::on_tunnel_end() { close(); }

void ClientConnection::on_end() {
  switch (phase_) {
    case State::greeting:
      if (hello_ != nullptr) return refuse_redirected({ErrorKind::bad_request, "the ClientHello is cut short"});
      return close();
    case State::idle:
      return linger(true);
    case State::reading_head:
    case State::exchanging:
      return exchange_->on_client_end();
    case State::lingering:
      if (transport_->backlog() == 0) close();
      return;
    case State::tunnelling:
    case State::closed:
      return;
  }
}

void ClientConnection::on_drained() {
  switch (phase_) {
    case State::idle:
      return transport_->resume(PauseReason::peer_full);
    case State::exchanging:
      return exchange_->on_client_drained();
    case State::lingering:
      if (transport_->read_ended() || (close_when_drained_ && !transport_->has_unseen())) return close();
      return timer_.set(kLinger);
    case State::greeting:
    case State::reading_head:
    case State::tunnelling:
    case State::closed:
      return;
  }
}

void ClientConnection::on_write_failed(int) { on_client_gone(); }

void ClientConnection::on_client_gone() {
  if (phase_ == State::exchanging && exchange_ != nullptr && !exchange_->is_over()) {
    return exchange_->on_client_gone();  // which comes back as on_exchange_end()
  }
  close();
}

void ClientConnection::on_failed(int) {
  if (is_shaking_hands()) state_.counters.tls_handshake_failures_total.add();
  on_client_gone();
}

void ClientConnection::on_timer() {
  switch (phase_) {
    case State::greeting:
      if (hello_ != nullptr) return refuse_redirected({ErrorKind::request_timeout, "the ClientHello came too slowly"});
      return close();
    case State::idle:
      if (std::exchange(is_arriving_, false) && !state_.draining) {
        return is_shaking_hands() ? on_failed(0) : timer_.set(state_.snapshot->settings.timeouts.idle);
      }
      if (transport_->backlog() == 0 && transport_->has_unseen()) {
        return timer_.set(kSoon);  // closing now would reset a request that is there
      }
      [[fallthrough]];
    case State::lingering: {
      // Slow is not idle, as long as what waits moves fast enough, whatever the client says meanwhile.
      const Milliseconds idle = state_.snapshot->settings.timeouts.idle;
      const Milliseconds left = transport_->last_sent() + idle - monotonic_now();
      // What the kernel still has to deliver would be lost if octets of the client's met a closed connection.
      const bool is_owed = transport_->backlog() > 0 || (phase_ == State::lingering && transport_->has_unconfirmed());
      const bool moves = is_owed && left.count() > 0;
      const std::uint64_t least = state_.snapshot->settings.limits.least_rate;
      if (moves && transport_->backlog() == 0) return timer_.set(std::min(left, kLinger));
      if (moves && !rate_.fell_short(octets_taken(), least, idle)) return timer_.set(left);
      if (phase_ == State::idle) state_.counters.client_idle_timeouts_total.add();
      return close();
    }
    case State::reading_head:
      return exchange_->on_head_timeout();
    case State::exchanging: {
      const Milliseconds again = exchange_->check_progress();
      if (phase_ == State::exchanging) timer_.set(again);
      return;
    }
    case State::tunnelling:
    case State::closed:
      return;
  }
}

void ClientConnection::drain(Milliseconds idle) {
  if (phase_ != State::idle && phase_ != State::greeting) return;
  if (is_arriving_) return;  // its time is running
  timer_.set(has_asked_ ? idle : state_.snapshot->settings.timeouts.request_header);
}

void ClientConnection::rest_exchange() {
  if (exchange_ != nullptr) exchanges_.give(std::move(exchange_));
}

void ClientConnection::close() {
  if (phase_ == State::closed) return;
  phase_ = State::closed;
  set_idle(false);
  timer_.clear();
  if (tunnel_ != nullptr) {
    tunnel_->close();
    state_.io.loop.graveyard().bury(std::move(tunnel_));
  }
  if (exchange_ != nullptr) exchange_->abandon();
  rest_exchange();
  drop_inner();
  transport_->close();
  owner_.on_client_closed(*this);  // last: the owner buries us
}

}  // namespace bloomwall::proxy
