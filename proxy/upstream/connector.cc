// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/connector.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proxy/io/event_loop.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/dial_rules.h"

namespace bloomwall::proxy {
namespace {

constexpr Milliseconds kStagger{250};         // RFC 8305 section 5: Connection Attempt Delay
constexpr Milliseconds kResolutionDelay{50};  // RFC 8305 section 3
constexpr std::uint32_t kMaxAttempts = 16;

// The kernel has nothing left to connect with: descriptors, memory, ports (EAGAIN: room for a route to remember).
bool is_shortage(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case EAGAIN:
    case EADDRNOTAVAIL:
      return true;
    default:
      return false;
  }
}

Family other(Family family) { return family == Family::v4 ? Family::v6 : Family::v4; }

}  // namespace

Connector::Connector(DialContext& context, Handler& handler)
    : context_(context),
      handler_(handler),
      query_(*this),
      deadline_(
          context.loop.timers(), [](void* self) { static_cast<Connector*>(self)->on_deadline(); }, this),
      stagger_(context.loop.timers(), [](void* self) { static_cast<Connector*>(self)->proceed(); }, this) {
  tell_.assign(
      context.loop.base(), -1, 0,
      [](evutil_socket_t, short, void* self) {
        auto& me = *static_cast<Connector*>(self);
        if (me.connected_) {
          me.succeed(std::move(me.connected_), me.peer_);
        } else {
          me.fail(me.error_);
        }
      },
      this);
}

void Connector::cancel() {
  deadline_.clear();
  stagger_.clear();
  tell_.disarm();
  query_.cancel();
  while (!attempts_.empty()) drop(*attempts_.back());
  for (auto& list : candidates_) list.clear();
  connected_.reset();
  rules_.reset();
}

void Connector::start(const DialTarget& target, DialRulesPtr rules) {
  cancel();
  rules_ = std::move(rules);
  port_ = target.port;
  is_parent_ = target.is_parent;
  looped_ = false;
  taken_ = {};
  attempts_made_ = attempts_failed_ = denied_ = refused_ = 0;
  last_errno_ = 0;
  next_family_ = Family::v6;
  started_ = monotonic_now();
  resolve_time_ = Milliseconds(0);
  deadline_.set(rules_->connect_timeout);
  query_.set_client(target.client);
  look_up(target.host);
  step();
}

void Connector::look_up(std::string_view host) {
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  if (const auto literal = Endpoint::parse_ip(host)) return add_candidates(std::span(&*literal, 1));
  if (const auto known = rules_->hosts.find(host); !known.empty()) return add_candidates(known);
  context_.resolver.resolve(query_, host);
  take_answer(Family::v6);
  take_answer(Family::v4);
}

void Connector::take_answer(Family family) {
  if (query_.state(family) != Query::State::done || taken_[index(family)]) return;
  taken_[index(family)] = true;
  add_candidates(query_.answer(family).addresses);
}

void Connector::add_candidates(std::span<const Endpoint> addresses) {
  for (const Endpoint& address : addresses) {
    auto& list = candidates_[index(address.is_v6() ? Family::v6 : Family::v4)];
    list.insert(list.begin(), address.with_port(port_));
  }
}

void Connector::on_resolved(Query&) {
  resolve_time_ = monotonic_now() - started_;
  take_answer(Family::v6);
  take_answer(Family::v4);
  step();
}

// Dials unless it is better to wait a moment for the IPv6 answer, or for the attempt under way.
void Connector::step() {
  const bool only_v4_yet = query_.state(Family::v6) == Query::State::pending && !candidates_[index(Family::v4)].empty();
  if (only_v4_yet && attempts_made_ == 0) {
    if (!stagger_.is_set()) stagger_.set(kResolutionDelay);
    return;
  }
  if (attempts_.empty() || !stagger_.is_set()) proceed();
}

bool Connector::awaiting_names() const {
  return query_.state(Family::v4) == Query::State::pending || query_.state(Family::v6) == Query::State::pending;
}

bool Connector::next_candidate(Endpoint& next) {
  for (int i = 0; i < 2; ++i) {
    auto& list = candidates_[index(next_family_)];
    next_family_ = other(next_family_);
    if (list.empty()) continue;
    next = list.back();
    list.pop_back();
    return true;
  }
  return false;
}

void Connector::proceed() {
  Endpoint next;
  while (attempts_made_ < kMaxAttempts && next_candidate(next)) {
    if (!is_permitted(next)) continue;
    ++attempts_made_;
    if (dial(next)) return stagger_.set(kStagger);
    ++attempts_failed_;
  }
  if (attempts_.empty() && !connected_ && !awaiting_names()) fail_later(verdict());
}

bool Connector::is_permitted(const Endpoint& peer) {
  if (context_.own.contains(peer)) {
    looped_ = true;
    return false;
  }
  if (is_parent_) return true;
  if (!rules_->access.destination_allowed(peer.address())) {
    ++denied_;
    return false;
  }
  if (handler_.may_dial(peer)) return true;
  ++refused_;
  return false;
}

bool Connector::dial(const Endpoint& peer) {
  UniqueFd fd(::socket(peer.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) {
    last_errno_ = errno;
    return false;
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // streams write in whole messages
  if (::connect(fd.get(), peer.raw(), peer.raw_size()) == 0) {
    connected_ = std::move(fd);
    peer_ = peer;
    tell_.trigger();
    return true;
  }
  if (errno != EINPROGRESS) {
    last_errno_ = errno;
    return false;
  }
  auto attempt = std::make_unique<Attempt>();
  attempt->connector = this;
  attempt->peer = peer;
  attempt->fd = std::move(fd);
  attempt->event.assign(
      context_.loop.base(), attempt->fd.get(), EV_WRITE | EV_PERSIST,
      [](evutil_socket_t, short, void* self) {
        auto& ready = *static_cast<Attempt*>(self);
        ready.connector->on_attempt_ready(ready);
      },
      attempt.get());
  attempt->event.arm();
  attempts_.push_back(std::move(attempt));
  return true;
}

void Connector::on_attempt_ready(Attempt& attempt) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(attempt.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) {
    attempt.event.disarm();
    return succeed(std::move(attempt.fd), attempt.peer);
  }
  last_errno_ = error;
  ++attempts_failed_;
  drop(attempt);
  proceed();
}

void Connector::drop(Attempt& attempt) {
  attempt.event.disarm();
  attempt.fd.reset();
  const auto found =
      std::find_if(attempts_.begin(), attempts_.end(), [&](const auto& held) { return held.get() == &attempt; });
  context_.loop.deferred().delete_later(std::move(*found));
  attempts_.erase(found);
}

void Connector::succeed(UniqueFd fd, const Endpoint& peer) {
  const Endpoint reached = peer;  // cancel() deletes later what it may stand in
  cancel();
  handler_.on_connected(std::move(fd), reached);
}

void Connector::on_deadline() {
  if (was_refused()) return fail(verdict());
  if (attempts_made_ == 0 && awaiting_names()) return fail({ErrorKind::dns_timeout, "no answer from the name servers"});
  fail({ErrorKind::connect_timeout, "no connection within timeouts.connect"});
}

// A copy: the handler may start() again, which changes error_.
void Connector::fail(HttpError error) {  // NOLINT(performance-unnecessary-value-param)
  cancel();
  handler_.on_dial_failed(error);
}

void Connector::fail_later(const HttpError& error) {
  error_ = error;
  tell_.trigger();
}

HttpError Connector::verdict() const {
  if (was_refused()) return {ErrorKind::destination_denied, "a filter holds the address"};
  if (looped_) return {ErrorKind::loop, "the address is that of the proxy itself"};
  if (attempts_made_ > 0) {
    if (last_errno_ == ECONNREFUSED) return {ErrorKind::connection_refused, "connection refused"};
    if (last_errno_ == ETIMEDOUT) return {ErrorKind::connect_timeout, "connection attempt timed out"};
    if (is_shortage(last_errno_)) {
      return {ErrorKind::connection_limit, "no socket is left for a connection to the origin"};
    }
    return {ErrorKind::connection_failed, "no address could be reached"};
  }
  if (denied_ > 0) return {ErrorKind::destination_denied, "access.deny_destinations"};
  const ResolveError v4 = query_.answer(Family::v4).error;
  if (v4 == ResolveError::timed_out) return {ErrorKind::dns_timeout, "no answer from the name servers"};
  if (v4 == ResolveError::no_such_name) return {ErrorKind::dns_error, "the name does not exist"};
  if (v4 == ResolveError::bad_name) return {ErrorKind::dns_error, "no name that can be resolved"};
  if (v4 == ResolveError::overloaded) return {ErrorKind::dns_limit, "no room to ask for another name"};
  if (v4 == ResolveError::failed) return {ErrorKind::dns_error, "the name servers failed"};
  return {ErrorKind::dns_error, "the name has no address"};
}

}  // namespace bloomwall::proxy
