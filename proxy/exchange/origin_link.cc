// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/origin_link.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proxy/decision/client_info.h"
#include "proxy/decision/client_stream.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/exchange_log.h"
#include "proxy/exchange/http2_origin_stream.h"
#include "proxy/http/serialise.h"
#include "proxy/log/log.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/bound_upstreams.h"
#include "proxy/upstream/client_limits.h"
#include "proxy/upstream/connector.h"
#include "proxy/upstream/origin_places.h"

namespace bloomwall::proxy {
namespace {

// What is wrong with a parent is an error for the operator, but not once a request.
bool is_time_to_log(Milliseconds& logged) {
  constexpr Milliseconds kLogAgain{60'000};
  const Milliseconds now = monotonic_now();
  if (logged != Milliseconds(0) && now - logged <= kLogAgain) return false;
  logged = now;
  return true;
}

Standing standing_after(OriginLink::Reuse reuse) {
  return reuse == OriginLink::Reuse::by_all ? Standing::clear : Standing::doubtful;
}

bool came_through_a_proxy(const RequestHead& head) {
  return std::ranges::any_of(head.fields, [](const Field& field) {
    return field.id == FieldId::via || field.id == FieldId::forwarded || field.id == FieldId::x_forwarded_for;
  });
}

}  // namespace

void ExchangeContext::go_to(const Decision& decision) {
  host = decision.host;
  port = decision.port;
  host_field_port = decision.host_field_port;
  if (!decision.safe_search) return;
  dialled = decision.safe_search.dialled;
  worker.counters.safe_search.count(decision.safe_search.engine);
}

OriginLink::OriginLink(ExchangeContext& context, ExchangeLog& log, User& user)
    : context_(context),
      log_(log),
      user_(user),
      tls_deadline_(
          context.worker.io.loop.timers(), [](void* self) { static_cast<OriginLink*>(self)->on_tls_deadline(); },
          this) {}

OriginLink::~OriginLink() = default;

void OriginLink::route() {
  const auto& parent = context_.snapshot->parent;
  const bool is_direct = is_inside() || !parent || parent->bypass.contains(context_.host);
  parent_ = is_direct ? nullptr : &*parent;
  log_.is_for_parent = parent_ != nullptr;
  speaks_for_many_ = came_through_a_proxy(*context_.client.head());
}

bool OriginLink::is_inside() const { return context_.client.info().inside != nullptr; }

DialTarget OriginLink::target() const {
  const ClientInfo& client = context_.client.info();
  const auto& meant = client.destination;
  if (!context_.dialled.empty()) {
    const std::uint16_t port = meant != nullptr ? meant->endpoint.port() : context_.port;
    return {.host = context_.dialled, .port = port, .client = ClientLimits::key_of(client.endpoint)};
  }
  if (meant != nullptr) return {.host = meant->address, .port = meant->endpoint.port()};
  return {.host = context_.host, .port = context_.port, .client = ClientLimits::key_of(client.endpoint)};
}

// Where a connection leads and how: requests with the same key may share it. A part of that are the scheme that is
// spoken at its end and the name that a certificate has proved; and what the client calls the origin: a parent, or the
// address that a redirected client went to, serves many, and what one of them sends too much must not reach those who
// ask another.
std::string OriginLink::pool_key() const {
  const DialTarget origin = target();
  std::string key(prefix_of(Scheme::http));
  append(key, {origin.host, ":"});
  append_number(key, origin.port);
  if (context_.host != origin.host) append(key, {" ", context_.host});
  if (parent_ != nullptr) append_parent_key(key);
  return key;
}

void OriginLink::append_parent_key(std::string& key) const {
  append(key, {parent_->tls != nullptr ? " by tls " : " by tcp ", parent_->host, ":"});
  append_number(key, parent_->port);
}

bool OriginLink::is_bound() const { return upstream_ != nullptr && !upstream_->bound_as.empty(); }

bool OriginLink::may_bind() const {
  return !is_inside() && !speaks_for_many_ && context_.client.bound_upstreams() != nullptr;
}

bool OriginLink::has_lost_bound() const { return may_bind() && context_.client.bound_upstreams()->is_lost(); }

bool OriginLink::passes_proxy_login() const {
  return parent_ != nullptr && parent_->authorization.empty() && context_.snapshot->authentication == nullptr;
}

// Who has logged in to the parent has done so for whatever is asked of it.
std::string OriginLink::bound_key() const {
  if (is_bound()) return upstream_->bound_as;
  const bool is_for_origin = find_field(context_.client.head()->fields, "authorization") != nullptr;
  if (parent_ == nullptr || is_for_origin) return pool_key();
  std::string key;
  append_parent_key(key);
  return key;
}

// A CONNECT goes on it where it is the parent that knows the client.
UpstreamPtr OriginLink::take_bound() {
  if (!may_bind() || context_.client.bound_upstreams()->empty()) return nullptr;
  std::string of_parent;
  if (parent_ != nullptr) append_parent_key(of_parent);
  const bool is_connect = context_.client.head()->method == Method::connect;
  return context_.client.bound_upstreams()->take(is_connect ? std::string() : pool_key(), of_parent, user_);
}

OriginLink::Access OriginLink::access() {
  const Snapshot& snapshot = *context_.snapshot;
  if (const auto& inside = context_.client.info().inside; inside != nullptr) {
    if (!inside->to_parent) return may_send_to(upstream_->peer) ? Access::allowed : Access::blocked;
    return snapshot.may_ask_parent_for(inside->host) ? Access::allowed : Access::denied;
  }
  if (parent_ == nullptr) return Access::allowed;
  std::string_view host = target().host;
  if (!snapshot.may_ask_parent_for(host)) return Access::denied;
  // Where a name leads the parent finds out; an address is where it goes, and may carry another.
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  const auto literal = Endpoint::parse_ip(host);
  return !literal || may_dial(*literal) ? Access::allowed : Access::blocked;
}

bool OriginLink::may_dial(const Endpoint& peer) {
  Decider& decider = context_.worker.decider;
  if (!decider.has_networks()) return true;
  const ClientStream& client = context_.client;
  return log_.note_address(
      decider.address({*client.head(), client.info(), client.is_implicit_tunnel(), context_.user.get()}, peer));
}

// On a connection that was made for an earlier request, and perhaps under other rules.
bool OriginLink::may_send_to(const Endpoint& peer) {
  return context_.snapshot->access.destination_allowed(peer.address()) && may_dial(peer);
}

bool OriginLink::is_repeatable() const {
  const RequestHead& head = *context_.client.head();
  return head.framing == BodyFraming::none && is_idempotent(head.method);
}

OwnUpstreams* OriginLink::own_upstreams() const {
  return speaks_for_many_ ? nullptr : &context_.client.own_upstreams();
}

// For CONNECT a connection is made that nothing was said on.
UpstreamPtr OriginLink::take_idle() {
  UpstreamPool& pool = context_.worker.upstreams;
  ClientStream& client = context_.client;
  if (is_repeatable()) return pool.take(pool_key(), user_, own_upstreams());
  if (!client.was_answered() || client.head()->method == Method::connect) return nullptr;
  return pool.take_fresh(pool_key(), user_, own_upstreams());
}

bool OriginLink::take_pooled() {
  use(take_bound());
  if (has_lost_bound()) return false;
  if (upstream_ == nullptr) use(take_idle());
  if (upstream_ == nullptr) return false;
  if (parent_ == nullptr && !may_send_to(upstream_->peer)) {
    release(Reuse::never);
    log_.forget_peer();
    return false;
  }
  context_.worker.counters.upstream_reuses_total.add();
  return true;
}

std::optional<HttpError> OriginLink::take_inner() {
  if (const auto& failure = context_.client.info().inside->failure) return failure;
  use(context_.client.take_inner());
  if (upstream_ == nullptr) return HttpError{ErrorKind::connection_terminated, "the tunnel's far end is gone"};
  upstream_->transport->set_handler(user_);
  return std::nullopt;
}

void OriginLink::use(UpstreamPtr upstream) {
  upstream_ = std::move(upstream);
  if (upstream_ != nullptr) log_.note_peer(*upstream_);
}

void OriginLink::dial() {
  if (connector_ == nullptr) connector_ = std::make_unique<Connector>(context_.worker.dial, *this);
  if (place_ == nullptr) dialled_at_ = monotonic_now();
  if (!context_.client.request_ended()) context_.client.pause(PauseReason::not_ready);
  if (parent_ != nullptr) {
    connector_->start({.host = parent_->host, .port = parent_->port, .is_parent = true}, context_.snapshot);
  } else {
    connector_->start(target(), context_.snapshot);
  }
}

void OriginLink::on_connected(UniqueFd fd, const Endpoint& peer) {
  log_.times.resolving = connector_->resolve_time();
  log_.times.connecting = monotonic_now() - dialled_at_ - log_.times.resolving;
  context_.worker.counters.upstream_connect_failures_total.add(connector_->attempts_failed());
  if (place_ != nullptr) place_->end();
  use(context_.worker.upstreams.make(std::move(fd), peer, pool_key(), user_));
  if (parent_ != nullptr && parent_->tls != nullptr) {
    upstream_->secure(TlsSession::connect(*parent_->tls, parent_->host), user_);
    const Milliseconds left = dialled_at_ + context_.snapshot->settings.timeouts.connect - monotonic_now();
    tls_deadline_.set(std::max(left, Milliseconds(1)));
  }
  user_.on_origin_connected();
}

void OriginLink::on_dial_failed(const HttpError& error) {
  log_.times.resolving = connector_->resolve_time();
  context_.worker.counters.upstream_connect_failures_total.add(connector_->attempts_failed());
  if (connector_->was_refused()) return user_.on_addresses_blocked();
  // Firewalls have many words for it.
  const bool is_turned_away = error.kind == ErrorKind::connection_refused || error.kind == ErrorKind::connection_failed;
  if (is_turned_away && may_wait_for_place()) return wait_for_place();
  user_.on_origin_failed(error);
}

bool OriginLink::may_wait_for_place() {
  const WorkerState& worker = context_.worker;
  if (worker.dial.places == nullptr || context_.client.head()->method == Method::connect) return false;
  if (!worker.upstreams.has_others(pool_key(), upstream_.get())) return false;
  if (place_ != nullptr) return !place_->is_over(monotonic_now());
  worker.counters.upstream_waits_total.add();
  const Milliseconds until = monotonic_now() + context_.snapshot->settings.timeouts.connect;
  place_ = std::make_unique<PlaceWait>(
      *worker.dial.places, worker.io.loop.timers(), [](void* self) { static_cast<OriginLink*>(self)->dial(); }, this,
      until);
  return true;
}

void OriginLink::wait_for_place() {
  const std::string key = pool_key();
  place_->pause(key);
  WorkerState& worker = context_.worker;
  if (!worker.upstreams.spare(key) && worker.spare_at_peers) worker.spare_at_peers(key);
}

bool OriginLink::wait_after_end() {
  if (upstream_ == nullptr || is_inside() || is_bound() || !is_repeatable()) return false;
  if (!may_wait_for_place() || !place_->count_ended()) return false;
  release(Reuse::never);
  wait_for_place();
  return true;
}

void OriginLink::on_tls_deadline() {
  if (upstream_ == nullptr || upstream_->transport->tls() == nullptr) return;
  if (upstream_->transport->tls()->is_established()) return;
  user_.on_origin_failed({ErrorKind::connect_timeout, "no TLS with the parent proxy within timeouts.connect"});
}

// An idle connection may have died, or be about to: what was sent on it may have reached no server.
bool OriginLink::may_retry() const {
  if (upstream_ == nullptr || retried_ || !upstream_->reused || is_inside() || is_bound()) return false;
  return is_repeatable();
}

void OriginLink::retry() {
  retried_ = true;
  context_.worker.counters.upstream_retries_total.add();
  release(Reuse::never);
  dial();
}

Transport& OriginLink::transport() const { return *upstream_->transport; }

bool OriginLink::is_reused() const { return upstream_->reused; }

// What was dialled before a reload may lead elsewhere than it would now.
void OriginLink::release(Reuse reuse) {
  tls_deadline_.clear();
  if (connector_ != nullptr) connector_->cancel();
  if (place_ != nullptr) place_->end();
  if (upstream_ == nullptr) return;
  Transport& transport = *upstream_->transport;
  if (reuse != Reuse::never && transport.gate().open() && transport.backlog() == 0) {
    if (is_inside()) return context_.client.keep_inner(std::move(upstream_));
    if (context_.snapshot->generation >= context_.worker.routes_since) {
      if (reuse == Reuse::bound) {
        upstream_->bound_as = bound_key();
        return context_.client.bound_upstreams()->keep(std::move(upstream_));
      }
      return context_.worker.upstreams.put(std::move(upstream_), standing_after(reuse),
                                           context_.snapshot->settings.timeouts.idle, own_upstreams());
    }
  }
  if (is_bound()) context_.client.bound_upstreams()->note_lost();
  transport.close();
  context_.worker.io.loop.deferred().delete_later(std::move(upstream_));
}

void OriginLink::distrust() { context_.worker.upstreams.distrust(*upstream_); }

UpstreamPtr OriginLink::detach() {
  tls_deadline_.clear();
  return std::move(upstream_);
}

HttpError OriginLink::failure(int error) {
  if (error == ENOBUFS) return {ErrorKind::connection_limit, "limits.buffer_memory"};
  if (const auto tls = tls_error()) return *tls;
  if (error == kEndedUntold) return {ErrorKind::connection_terminated, "the origin ended TLS without close_notify"};
  if (is_inside() && error == kWantsHttp11) return {ErrorKind::origin_refused, "the origin wants HTTP/1.1"};
  if (is_inside() && error == ECONNREFUSED) return {ErrorKind::origin_refused, "the origin takes no more requests"};
  if (error == EPROTO) return {ErrorKind::upstream_protocol, "the answer breaks a rule of HTTP/2"};
  return {ErrorKind::connection_terminated, "the origin reset the connection"};
}

std::optional<HttpError> OriginLink::tls_error() {
  const TlsSession* const tls = upstream_ == nullptr ? nullptr : upstream_->transport->tls();
  if (tls == nullptr) return std::nullopt;
  if (is_inside()) {
    return tls->fault() == TlsSession::Fault::none ? std::nullopt : std::optional(origin_tls_error(*tls));
  }
  if (tls->is_established()) return std::nullopt;
  if (is_time_to_log(context_.worker.parent_tls_told)) {
    log::error("parent {}: no TLS: {}", upstream_->peer.text(), tls->why().empty() ? "it closed" : tls->why());
  }
  return tls->certificate_refused()
             ? HttpError{ErrorKind::parent_certificate, "the parent proxy's certificate is refused"}
             : HttpError{ErrorKind::parent_tls, "the TLS handshake with the parent proxy failed"};
}

// A page of the parent's must not be taken for the origin's, nor its cookies and redirects.
std::optional<HttpError> OriginLink::parent_error(int status) {
  if (status == 407) {
    if (auto error = challenge_error()) return error;
  }
  const ClientStream& client = context_.client;
  if (client.is_implicit_tunnel()) {
    return HttpError{ErrorKind::connection_failed, "the parent proxy refused the tunnel"};
  }
  if (client.head()->method != Method::connect || status == 407) return std::nullopt;
  return HttpError{ErrorKind::parent_refused, status < 400   ? "the parent proxy answered CONNECT with a redirect"
                                              : status < 500 ? "the parent proxy answered CONNECT with 4xx"
                                                             : "the parent proxy answered CONNECT with 5xx"};
}

// Clients may answer their parent's challenge only where they are meant to speak to it, which is without credentials of
// our own, with clients that know of a proxy, and where this proxy asks for no credentials itself. Any other would be
// asked for a password that is none of its business, or send the parent one that is meant for us.
std::optional<HttpError> OriginLink::challenge_error() {
  if (parent_ == nullptr) return std::nullopt;
  const bool is_clients_business =
      context_.client.info().destination == nullptr && context_.snapshot->authentication == nullptr;
  if (parent_->authorization.empty() && is_clients_business) return std::nullopt;
  if (is_time_to_log(context_.worker.challenge_told)) {
    log::error("parent {}: 407: {}", upstream_->peer.text(),
               parent_->authorization.empty() ? "it wants credentials, and upstream.credentials_file is not set"
                                              : "it does not take those of upstream.credentials_file");
  }
  return HttpError{ErrorKind::parent_auth, "the parent proxy answered 407"};
}

}  // namespace bloomwall::proxy
