// The origin's side of an exchange: finding a connection, sending the request, and what becomes of it.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "proxy/http/serialise.h"
#include "proxy/net/client_limits.h"
#include "proxy/net/exchange.h"

namespace bloomwall::proxy {
namespace {

// Where a connection leads and how: requests with the same key may share it. `site` is what the client calls the origin: a
// parent, or the address that a redirected client went to, serves many, and what one of them sends too much must not
// reach those who ask another.
void make_pool_key(std::string& key, const ParentProxy* parent, const DialTarget& origin, std::string_view site) {
  key.clear();
  if (parent != nullptr) append(key, {"parent ", parent->host, ":", std::to_string(parent->port), " "});
  append(key, {origin.host, ":", std::to_string(origin.port)});
  if (site != origin.host) append(key, {" ", site});
}

}  // namespace

void Exchange::route_to_origin(GatheredWrite& out) {
  if (is_inside()) return route_inside(out);
  const bool direct = !snapshot_->parent || snapshot_->parent->bypass.contains(host_);
  const ParentProxy* const parent = direct ? nullptr : &*snapshot_->parent;
  to_parent_ = parent != nullptr;
  if (to_parent_ && !snapshot_->may_ask_parent_for(origin().host)) {
    return answer_error({ErrorKind::destination_denied, "access.deny_destinations"});
  }
  if (to_parent_ && !may_ask_parent()) return deny_address();
  response_state_ = ResponseState::awaited;
  make_pool_key(pool_key_, parent, origin(), host_);
  // Only a request that may be sent again goes out on a connection that may have died while it was idle.
  if (is_idempotent(request_.head().method) && request_.head().framing == BodyFraming::none) {
    use(state_.upstreams.take(pool_key_, *this));
    if (upstream_ != nullptr && !to_parent_ && !may_send_to(upstream_->peer)) {
      release_upstream(Reuse::never);  // the rules or the filters have changed since it was dialled
      peer_text_.clear();
      peer_was_reused_ = false;
    }
  }
  if (upstream_ == nullptr) return dial();
  state_.counters.upstream_reuses_total.add();
  send_request(out);
}

// Whatever Host says.
void Exchange::route_inside(GatheredWrite& out) {
  to_parent_ = false;
  response_state_ = ResponseState::awaited;
  use(owner_->take_inner());
  if (upstream_ == nullptr) return answer_error({ErrorKind::connection_terminated, "the tunnel's far end is gone"});
  const ClientInfo::Inside& inside = *owner_->client_info().inside;
  if (inside.to_parent && !snapshot_->may_ask_parent_for(inside.host)) {  // since a reload
    return answer_error({ErrorKind::destination_denied, "access.deny_destinations"});
  }
  if (!inside.to_parent && !may_send_to(upstream_->peer)) return deny_address();
  upstream_->transport->set_handler(*this);
  send_request(out);
  if (request_state_ != RequestState::awaiting_upstream) return;
  request_state_ = RequestState::body;
  client().resume(PauseReason::not_ready);
}

// A redirected client is taken to the address it meant to reach: what it calls that may be a lie.
DialTarget Exchange::origin() const {
  const auto& meant = owner_->client_info().destination;
  if (meant != nullptr) return {.host = meant->address, .port = meant->endpoint.port()};
  return {.host = host_, .port = port_, .client = ClientLimits::key_of(owner_->client_info().endpoint)};
}

void Exchange::dial() {
  request_state_ = request_.at_end() ? RequestState::complete : RequestState::awaiting_upstream;
  waiting_since_ = monotonic_now();
  if (to_parent_) {
    connector_.start({.host = snapshot_->parent->host, .port = snapshot_->parent->port, .is_parent = true}, snapshot_);
  } else {
    connector_.start(origin(), snapshot_);
  }
}

void Exchange::on_connected(UniqueFd fd, const Endpoint& peer) {
  times_.resolving = connector_.resolve_time();
  times_.connecting = monotonic_now() - waiting_since_ - times_.resolving;
  state_.counters.upstream_connect_failures_total.add(connector_.attempts_failed());
  use(state_.upstreams.make(std::move(fd), peer, pool_key_, *this));
  if (is_connect() && !to_parent_) return establish_tunnel();
  if (to_parent_ && snapshot_->parent->tls != nullptr) {
    upstream_->secure(TlsSession::connect(*snapshot_->parent->tls, snapshot_->parent->host), *this);
    const Milliseconds left = waiting_since_ + snapshot_->settings.timeouts.connect - monotonic_now();
    deadline_.set(std::max(left, Milliseconds(1)));
  }
  GatheredWrite out(state_.gather);
  send_request(out);
  out.flush(*upstream_->transport, upload_is_chunked());
  if (request_state_ == RequestState::awaiting_upstream) {
    request_state_ = RequestState::body;
    client().resume(PauseReason::not_ready);
  }
}

void Exchange::on_dial_failed(const HttpError& error) {
  times_.resolving = connector_.resolve_time();
  state_.counters.upstream_connect_failures_total.add(connector_.attempts_failed());
  if (connector_.was_refused()) return deny_address();
  answer_error(error);
}

RequestRewrite Exchange::request_rewrite() const {
  const conf::Headers& headers = snapshot_->settings.headers;
  RequestRewrite how;
  how.host = host_;
  how.port = is_connect() ? port_ : host_field_port_;
  // A parent is asked by name, but for the port that the client went to.
  if (const auto& meant = owner_->client_info().destination; meant != nullptr && to_parent_ && !is_connect()) {
    how.port = port_in_http_url(meant->endpoint.port());
  }
  how.via_name = state_.via;
  how.client_address = owner_->client_info().address;
  how.forwarded_for = headers.x_forwarded_for;
  how.to_parent = to_parent_;
  if (to_parent_ && !snapshot_->parent->authorization.empty()) {
    how.parent_authorization = snapshot_->parent->authorization;
  } else if (to_parent_ && is_connect()) {  // the client's answer to a challenge of the parent's
    if (const Field* field = find_field(request_.head().fields, FieldId::proxy_authorization)) {
      how.parent_authorization = field->value;
    }
  }
  how.forward_upgrade = request_.head().wants_upgrade && request_.head().framing == BodyFraming::none;
  return how;
}

// Gathers the head; the caller flushes it, with what there is of the body.
void Exchange::send_request(GatheredWrite& out) {
  if (!is_connect()) count_verdict();
  asked_at_ = monotonic_now();
  const RequestRewrite how = request_rewrite();
  response_.start({.method = request_.head().method, .upgrade_forwarded = how.forward_upgrade});
  if (is_connect()) {
    write_connect_head(out.head(), how);
  } else {
    write_request_head(out.head(), request_.head(), how);
  }
}

void Exchange::upload(GatheredWrite& out, std::span<const char> piece) {
  body_received_ += piece.size();
  if (answered_here_ && body_received_ > kDrainBytes) return end(After::close);
  if (answered_here_ || upload_stopped_ || upstream_ == nullptr) return;
  const std::uint64_t most = snapshot_->settings.limits.request_body;
  if (most > 0 && body_received_ > most) return fail_request({ErrorKind::body_too_large, "limits.request_body"});
  out.add_body(piece, *upstream_->transport, upload_is_chunked());
}

void Exchange::flush_upload(GatheredWrite& out) {
  if (is_over() || answered_here_ || upstream_ == nullptr || out.empty()) return;
  out.flush(*upstream_->transport, upload_is_chunked());
  if (upstream_->transport->backlog() > 0) client().pause(PauseReason::peer_full);
}

void Exchange::on_request_complete(GatheredWrite& out) {
  asked_at_ = monotonic_now();
  request_state_ = RequestState::complete;
  if (answered_here_) return end(After::keep);
  if (upstream_ == nullptr) return;  // still dialling
  if (upload_is_chunked() && !upload_stopped_) {
    write_last_chunk(out.tail(), request_.trailers(), request_.head().fields);
  }
  flush_upload(out);
}

// --- stale connections

bool Exchange::may_retry() const {
  return upstream_ != nullptr && !is_inside() && upstream_->reused && !retried_ &&
         response_state_ == ResponseState::awaited && request_.head().framing == BodyFraming::none &&
         is_idempotent(request_.head().method) && response_.untouched();
}

void Exchange::retry() {
  retried_ = true;
  state_.counters.upstream_retries_total.add();
  release_upstream(Reuse::never);
  dial();
}

// --- tunnels

// The verdict is counted by the tunnel, which may come to another.
void Exchange::establish_tunnel() {
  if (std::exchange(is_uncounted_, false)) count_questions();
  GatheredWrite answer(state_.gather);
  if (!is_unasked_) write_connect_established(answer.head(), state_.via);
  answer.flush(client(), false);
  status_ = 200;
  hand_over_to_tunnel();
}

void Exchange::hand_over_to_tunnel() {
  Tunnel::Start start = tunnel_start();
  deadline_.clear();
  heads_.set(0);
  release_client();
  upstream_->transport->resume(PauseReason::peer_full);
  Owner& owner = *std::exchange(owner_, nullptr);
  snapshot_.reset();
  owner.on_tunnel(std::move(upstream_), std::move(start));  // last: the owner puts us to rest
}

Tunnel::Start Exchange::tunnel_start() {
  const RequestHead& head = request_.head();
  Tunnel::Start start;
  append_url(start.target);
  start.judged_by = snapshot_->generation;
  start.method = head.method_name;
  start.host = host_;
  start.port = port_;
  start.verdict = std::move(verdict_);
  start.decision_id = decision_id_;
  start.times = times_;
  start.client_sent_before = sent_before_;
  if (!is_unasked_) start.client_received_before = client().bytes_in() - client().unread() - head.bytes;
  start.status = status_;
  start.is_connect = is_connect();
  start.http10 = head.version == Version::http10;
  start.to_parent = to_parent_;
  return start;
}

}  // namespace bloomwall::proxy
