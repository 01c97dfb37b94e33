// SPDX-License-Identifier: Apache-2.0

#include "proxy/exchange/exchange_progress.h"

#include <algorithm>
#include <utility>

#include "proxy/decision/client_stream.h"
#include "proxy/decision/snapshot.h"
#include "proxy/exchange/download.h"
#include "proxy/exchange/origin_link.h"
#include "proxy/exchange/upload.h"
#include "proxy/http/http1_reader.h"

namespace bloomwall::proxy {

Milliseconds ExchangeProgress::often() const {
  const conf::Timeouts& timeouts = context_.snapshot->settings.timeouts;
  return std::min(timeouts.body, timeouts.response_header);  // what is waited for changes
}

std::optional<HttpError> ExchangeProgress::find_stall(Phase phase, Milliseconds& again) {
  const conf::Timeouts& timeouts = context_.snapshot->settings.timeouts;
  const bool waits_for_head = phase == Phase::awaiting && context_.client.request_ended();
  const Milliseconds limit = waits_for_head           ? timeouts.response_header
                             : is_conversation(phase) ? timeouts.tunnel_idle
                                                      : timeouts.body;
  const Sent now_sent = sent();
  if (is_being_taken(now_sent)) taken_at_ = monotonic_now();
  const Milliseconds still = monotonic_now() - last_progress(phase);
  const bool is_slow = is_too_slow(phase, now_sent);
  again = still < limit ? std::min(limit - still, often()) : often();
  if (still < limit && !is_slow) return std::nullopt;
  return phase == Phase::awaiting ? late_answer() : stalled_answer(still < limit);
}

// Over HTTP/2 a request and an answer that both go on are one, as of gRPC: slow by nature, like a WebSocket. An origin
// may say nothing before it has something to say; an upload has a length as a rule, and must go on.
bool ExchangeProgress::is_conversation(Phase phase) const {
  const ClientStream& client = context_.client;
  if (!client.is_http2() || client.request_ended()) return false;
  return phase == Phase::answering || client.head()->framing == BodyFraming::chunked;
}

ExchangeProgress::Sent ExchangeProgress::sent() const {
  const ClientStream& client = context_.client;
  Sent sent{.waiting = client.backlog() + client.unconfirmed(), .taken = client.octets_sent()};
  if (link_.is_connected()) {
    const Transport& origin = link_.transport();
    sent.waiting += origin.backlog() + origin.unconfirmed();
    sent.taken += origin.bytes_out();
  }
  sent.taken -= sent.waiting;  // may wrap, where TLS makes the octets more
  return sent;
}

// Somebody has taken something since the last look, and has more to take.
bool ExchangeProgress::is_being_taken(const Sent& sent) {
  const auto more = static_cast<std::int64_t>(sent.taken - std::exchange(taken_, sent.taken));
  return sent.waiting > 0 && more > 0;
}

// An origin that has all there is of the request owes a head: neither octets of one that drip in nor interim answers
// are progress, or it could hold a client for ever.
Milliseconds ExchangeProgress::last_progress(Phase phase) const {
  const Milliseconds client = std::max(context_.client.last_active(), taken_at_);
  if (!link_.is_connected()) return client;
  const Transport& origin = link_.transport();
  if (phase != Phase::awaiting || origin.backlog() > 0) return std::max(client, origin.last_active());
  return context_.client.request_ended() ? upload_.asked_at() : std::max(client, upload_.asked_at());
}

// Says who keeps everybody waiting.
HttpError ExchangeProgress::late_answer() const {
  if (context_.client.request_ended()) return {ErrorKind::upstream_timeout, "timeouts.response_header"};
  if (link_.is_connected() && link_.transport().backlog() > 0) {
    return {ErrorKind::upstream_timeout, "the origin does not take the request's body"};
  }
  return {ErrorKind::request_timeout, "the request's body stands still, or is slower than limits.least_rate"};
}

HttpError ExchangeProgress::stalled_answer(bool is_slow) const {
  // The origin is paused for it.
  const bool client_is_late =
      context_.client.backlog() > 0 || (link_.is_connected() && !link_.transport().gate().open());
  return {client_is_late ? ErrorKind::client_stalled : ErrorKind::upstream_timeout,
          is_slow          ? "slower than limits.least_rate"
          : client_is_late ? "the client does not read"
                           : "the body stands still"};
}

// Whether a peer must send or take octets just now. An answer of unknown length may be a stream of events, which is
// slow by nature as long as the client takes it.
bool ExchangeProgress::owes_octets(Phase phase) const {
  if (!context_.client.request_ended()) return !is_conversation(phase);
  if (phase == Phase::awaiting) return false;
  return context_.client.backlog() > 0 || download_.answer().head().framing == BodyFraming::length;
}

bool ExchangeProgress::is_too_slow(Phase phase, const Sent& sent) {
  const std::uint64_t moved = upload_.received() + sent.taken;
  if (!owes_octets(phase)) {
    rate_.begin(moved);
    return false;
  }
  const conf::Config& settings = context_.snapshot->settings;
  return rate_.fell_short(moved, settings.limits.least_rate, settings.timeouts.body);
}

}  // namespace bloomwall::proxy
