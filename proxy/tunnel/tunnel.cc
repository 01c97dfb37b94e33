// SPDX-License-Identifier: Apache-2.0
#include "proxy/tunnel/tunnel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proxy/decision/tls_inspection.h"
#include "proxy/decision/user_check.h"
#include "proxy/log/access_log.h"
#include "proxy/tunnel/tunnel_log.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kForAHello{1000};  // of a client whose far end has gone

}  // namespace

Tunnel::Tunnel(WorkerState& state, Owner& owner, UpstreamPtr upstream, TunnelStart start,
               std::unique_ptr<TunnelPeek> peek)
    : state_(state),
      owner_(&owner),
      upstream_(std::move(upstream)),
      start_(std::move(start)),
      url_memory_(state.io.pool, BufferKind::heads),
      peek_(std::move(peek)),
      timer_(
          state.io.loop.timers(), [](void* self) { static_cast<Tunnel*>(self)->on_timer(); }, this),
      opened_(monotonic_now()) {
  state_.counters.tunnels_total.add();
  state_.counters.tunnels_active.add();
  if (start_.is_connect && peek_ == nullptr) peek_ = std::make_unique<TunnelPeek>(state_);
  if (peek_ != nullptr) {
    const TlsQuestion* const question = start_.tls_decision ? nullptr : start_.tls_question.get();
    peek_->lead_to(start_.host, start_.port, question, owner.client_info());
    peek_->set_dialled(start_.dialled.empty() ? start_.host : start_.dialled);
    peek_->set_user(start_.user);
    if (start_.leaves_urls) peek_->pass_nothing_unread();
    if (start_.user == nullptr && must_log_in(*state.snapshot, owner.client_info())) peek_->keep_to_exempt_hosts();
  }
  is_counted_ = !start_.is_connect || start_.is_counted;
  if (!start_.is_connect) url_memory_.set(start_.target.size());  // there is room: the head's was given back just now
  far_octets_before_ = upstream_->transport->bytes_in();          // a parent's answer
  upstream_->transport->set_handler(far_);
  owner.client_transport().set_handler(client_);
  upstream_->transport->relay_to(owner.client_transport());
  if (peek_ == nullptr) owner.client_transport().relay_to(*upstream_->transport);
  timer_.set(longest_wait());
  state_.tunnels.add(*this, start_.judged_by);
}

Tunnel::~Tunnel() { state_.counters.tunnels_active.subtract(); }

Tunnel::Side::Side(Tunnel& tunnel, bool is_client)
    : tunnel_(tunnel),
      wait_(
          tunnel.state_.io.loop.timers(), [](void* self) { static_cast<Side*>(self)->stop_waiting(); }, this),
      is_client_(is_client) {}

Transport& Tunnel::Side::transport() const {
  return is_client_ ? tunnel_.owner_->client_transport() : *tunnel_.upstream_->transport;
}

std::size_t Tunnel::Side::on_data(std::span<const char> bytes) {
  if (tunnel_.peek_ != nullptr) tunnel_.ask_by_now();
  if (is_client_ && tunnel_.peek_ != nullptr) return tunnel_.on_hello(tunnel_.peek_->feed(bytes), bytes);
  if (!is_client_ && tunnel_.peek_ != nullptr) {
    tunnel_.on_answer(bytes);
    if (tunnel_.owner_ == nullptr) return bytes.size();
  }
  tunnel_.relay(*this, bytes);
  return bytes.size();
}

void Tunnel::begin() {
  if (peek_ != nullptr && peek_->has_peeked()) on_hello(peek_->judge_peeked(), {});
}

// Octets held for a ClientHello have a limit of their own.
std::size_t Tunnel::Side::ration() {
  if (is_client_ && tunnel_.peek_ != nullptr) return SIZE_MAX;
  const std::size_t ration = wait_.ration(other().transport().kernel_room());
  if (ration == 0) transport().pause(PauseReason::no_memory);
  return ration;
}

void Tunnel::Side::stop_waiting() {
  wait_.end();
  if (tunnel_.owner_ != nullptr) transport().resume(PauseReason::no_memory);
}

void Tunnel::Side::on_relayed() {
  if (other().transport().backlog() > 0) transport().pause(PauseReason::peer_full);
}

// It takes nothing more, but may still be sending: only the other direction stops, and nobody waits for its end.
void Tunnel::Side::on_write_failed(int) {
  other().transport().pause(PauseReason::busy);
  tunnel_.maybe_finish();
}

// What it sent before it failed still goes to the other side; then that is closed too.
void Tunnel::Side::on_failed(int) {
  tunnel_.cut_why_ = is_client_ ? "reset by the client" : "reset by the far end";
  if (!is_client_ && tunnel_.is_owed_an_answer()) return tunnel_.wait_for_hello(true);
  other().transport().pause(PauseReason::busy);
  ended = other().ended = true;
  tunnel_.maybe_finish();
}

void Tunnel::relay(Side& from, std::span<const char> bytes) {
  Transport& to = from.other().transport();
  to.send({bytes.data(), bytes.size()});
  if (to.backlog() > 0) from.transport().pause(PauseReason::peer_full);
}

// The far end has gone without a word, but if what the client is about to say is TLS for the proxy to end, then the
// client can be told.
bool Tunnel::is_owed_an_answer() const {
  const auto& inspection = state_.snapshot->inspection;
  const bool is_undecided = peek_ != nullptr && !peek_->is_inspected() && !peek_->holds_text() && !client_.ended;
  return is_undecided && start_.tls_question != nullptr && !start_.tls_decision && inspection != nullptr &&
         inspection->rules().is_on() && upstream_->transport->bytes_in() == far_octets_before_;
}

void Tunnel::wait_for_hello(bool has_failed) {
  far_.ended = true;
  far_failed_unheard_ = has_failed;
  if (!hello_is_timed_) timer_.set(kForAHello);
}

// There was no such hello.
void Tunnel::end_far() {
  const bool has_failed = *std::exchange(far_failed_unheard_, std::nullopt);
  if (has_failed) {
    client_.transport().pause(PauseReason::busy);
    client_.ended = true;
  } else {
    client_.transport().shut_write();
    timer_.set(Milliseconds(0));  // which finds out what is next
  }
  maybe_finish();
}

std::size_t Tunnel::on_hello(TunnelPeek::Result result, std::span<const char> bytes) {
  switch (result) {
    case TunnelPeek::Result::wait:
      note_name();
      // A hello that drips in is a request head that drips in.
      if (!std::exchange(hello_is_timed_, true)) timer_.set(settings().timeouts.request_header);
      break;
    case TunnelPeek::Result::relay:
      note_name();
      release_held();
      if (far_failed_unheard_) end_far();
      break;
    case TunnelPeek::Result::pass:
      end_peek();
      if (far_failed_unheard_) end_far();
      break;
    case TunnelPeek::Result::http:
      return hand_over(bytes);
    case TunnelPeek::Result::intercept:
      intercept();
      break;
    case TunnelPeek::Result::cut:
      cut_by_peek();
      break;
  }
  return bytes.size();
}

void Tunnel::on_answer(std::span<const char> bytes) {
  switch (peek_->on_answer(bytes)) {
    case TunnelPeek::Result::pass:
      return end_peek();
    case TunnelPeek::Result::cut:
      return cut_by_peek();
    case TunnelPeek::Result::wait:
    case TunnelPeek::Result::relay:
    case TunnelPeek::Result::http:
    case TunnelPeek::Result::intercept:
      return;
  }
}

void Tunnel::note_name() {
  if (start_.tls_question != nullptr && peek_->is_inspected()) start_.tls_decision = peek_->tls_decision();
  if (!peek_->has_name() || !sni_.empty()) return;
  sni_ = peek_->name();
  if (peek_->verdict().decision == filter::Decision::allowed) return;
  std::string group = std::move(start_.verdict.group);
  start_.verdict = std::move(peek_->verdict());
  start_.verdict.group = std::move(group);
  if (start_.decision_id.empty()) start_.decision_id = state_.ids.next();
}

void Tunnel::release_held() {
  Chain& held = peek_->held();
  while (!held.empty()) {
    std::array<iovec, 8> pieces{};
    const std::size_t count = held.pieces(pieces);
    upstream_->transport->send(std::span<const iovec>(pieces.data(), count));
    std::size_t sent = 0;
    for (std::size_t i = 0; i < count; ++i) sent += pieces[i].iov_len;
    held.consume(sent);
  }
  if (std::exchange(hello_is_timed_, false)) timer_.set(Milliseconds(0));  // which finds out what is next
  if (upstream_->transport->backlog() > 0) client_.transport().pause(PauseReason::peer_full);
}

void Tunnel::end_peek() {
  client_.transport().relay_to(*upstream_->transport);
  note_name();
  count_verdict();
  release_held();
  is_tls_ = peek_->is_tls();
  peek_.reset();
}

void Tunnel::cut_by_peek() {
  note_name();
  if (peek_->error()) return refuse(*peek_->error(), TunnelEndCause::refused);
  cut_status_ = 403;
  cut("the server name is blocked", TunnelEndCause::refused);
}

// The proxy's own rules are against it, whatever the filters say: it is counted and logged as a request that they
// refuse.
void Tunnel::refuse(const HttpError& error, TunnelEndCause cause) {
  if (owner_ == nullptr) return;
  error_ = error;
  state_.counters.count_error(error.kind);
  if (start_.decision_id.empty()) start_.decision_id = state_.ids.next();
  is_counted_ = true;
  cut_status_ = facts(error.kind).status;
  cut(error.detail, cause);
}

// Once, when it is known what became of it.
void Tunnel::count_verdict() {
  if (!std::exchange(is_counted_, true))
    state_.counters.count_verdict(MethodClass::connect, start_.verdict, start_.verdict.group);
}

void Tunnel::on_side_end(Side& side) {
  side.ended = true;
  side.transport().set_notices_reset(true);  // all that it sent was read, so nothing is lost by it
  if (&side == &far_ && is_owed_an_answer()) return wait_for_hello(false);
  // A ClientHello, or a request, that was begun and not finished is none; a client that said nothing may still listen.
  if (&side == &client_ && peek_ != nullptr) {
    const TunnelPeek::Result result = peek_->on_end();
    if (result == TunnelPeek::Result::cut) return cut_by_peek();
    if (result == TunnelPeek::Result::pass) end_peek();
  }
  Transport& other = side.other().transport();
  if (!is_finished() || other.tls() != nullptr) other.shut_write();  // else the close that follows says it as well
  maybe_finish();
}

void Tunnel::on_side_drained(Side& side) {
  side.other().transport().resume(PauseReason::peer_full);
  maybe_finish();
}

bool Tunnel::is_finished() const { return client_.is_through() && far_.is_through(); }

// All of it is with the other side, or never will be.
bool Tunnel::Side::is_through() const {
  const Transport& to = other().transport();
  return to.write_failed() || (ended && to.backlog() == 0);
}

void Tunnel::maybe_finish() {
  if (owner_ != nullptr && is_finished()) finish(TunnelEndCause::closed);
}

void Tunnel::cut(std::string_view why, TunnelEndCause cause) {
  if (owner_ == nullptr) return;
  cut_why_ = why;
  finish(cause);
}

void Tunnel::on_timer() {
  if (peek_ != nullptr && !peek_->held().empty()) {
    return refuse({ErrorKind::request_timeout,
                   peek_->holds_text() ? "the request came too slowly" : "the ClientHello was too slow"},
                  TunnelEndCause::refused);
  }
  if (far_failed_unheard_) return end_far();
  const conf::Timeouts& timeouts = settings().timeouts;
  const Milliseconds now = monotonic_now();
  if (ends_at_ && now >= *ends_at_) {
    state_.counters.tunnels_cut_by_reload_total.add();
    return cut("a reload has listed URLs of the host", TunnelEndCause::rules);
  }
  const Milliseconds active = std::max(client_.transport().last_active(), far_.transport().last_active());
  Milliseconds idle_left = timeouts.tunnel_idle - (now - active);
  if (idle_left <= Milliseconds(0)) {
    state_.counters.tunnel_idle_timeouts_total.add();
    return cut("idle for too long", TunnelEndCause::idle);
  }
  const Milliseconds user_left = user_wait();
  if (user_left <= Milliseconds(0)) {
    return refuse({ErrorKind::tunnel_denied, "the time of its user is over"}, TunnelEndCause::rules);
  }
  idle_left = std::min(idle_left, user_left);
  if (ends_at_) idle_left = std::min(idle_left, *ends_at_ - now);
  if (timeouts.tunnel_lifetime == Milliseconds(0)) return timer_.set(idle_left);
  const Milliseconds life_left = timeouts.tunnel_lifetime - (now - opened_);
  if (life_left <= Milliseconds(0)) {
    state_.counters.tunnel_lifetime_timeouts_total.add();
    return cut("timeouts.tunnel_lifetime", TunnelEndCause::lifetime);
  }
  timer_.set(std::min(idle_left, life_left));
}

// Until there can be a reason to end it.
Milliseconds Tunnel::longest_wait() const {
  const conf::Timeouts& timeouts = settings().timeouts;
  const bool mortal = timeouts.tunnel_lifetime > Milliseconds(0);
  const Milliseconds wait = mortal ? std::min(timeouts.tunnel_idle, timeouts.tunnel_lifetime) : timeouts.tunnel_idle;
  return std::max(std::min(wait, user_wait()), Milliseconds(0));
}

void Tunnel::finish(TunnelEndCause cause) {
  if (owner_ == nullptr) return;
  state_.counters.count_end(cause);
  timer_.clear();
  cancel_page_wait();
  leave();
  count_verdict();
  write_log();
  Owner& owner = *std::exchange(owner_, nullptr);
  upstream_->transport->close();
  owner.client_transport().close();
  state_.io.loop.deferred().delete_later(std::move(upstream_));
  owner.on_tunnel_end();  // last: the owner has us deleted later
}

TunnelEnd Tunnel::end() const {
  const Transport& client = owner_->client_transport();
  return {.status = cut_status_ != 0 ? cut_status_ : start_.status,
          .sni = sni_,
          .why = cut_why_,
          .peer = state_.log.enabled() ? upstream_->peer.text() : std::string(),
          .reused = upstream_->reused,
          .bytes_sent = client.bytes_out() - start_.client_sent_before,
          .bytes_received = client.bytes_in() - start_.client_received_before,
          .error = error_ ? &*error_ : nullptr};
}

void Tunnel::count_bytes() {
  state_.counters.tunnel_bytes_total.add(upstream_->transport->bytes_in() + upstream_->transport->bytes_out());
}

void Tunnel::write_log() {
  count_bytes();
  write_tunnel_line(state_, owner_->client_info(), start_, end());
}

}  // namespace bloomwall::proxy
