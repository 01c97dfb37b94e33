// The far side of an exchange: where its request goes, and the connection that it goes out on. That is an idle one of
// the pool, a new one (to the origin, or to the parent proxy, perhaps in TLS), or inside a tunnel the one that the
// tunnel had.
// A request is sent again, once, only if it is idempotent, has no body, went out on a pooled connection, and not one
// octet of an answer came. Others go out on pooled connections by stricter rules (UpstreamPool::take_fresh()).
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "proxy/decision/client_stream.h"
#include "proxy/http/http_error.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/io/transport.h"
#include "proxy/upstream/dial_handler.h"

namespace bloomwall::proxy {

class Connector;
class ExchangeLog;
struct DialTarget;
class PlaceWait;  // proxy/upstream/origin_places.h
struct ExchangeContext;
struct ParentProxy;

class OriginLink final : public DialHandler {
 public:
  // The transport's handler is told what comes on the connection.
  class User : public Transport::Handler {
   public:
    virtual void on_origin_connected() = 0;
    virtual void on_origin_failed(const HttpError& error) = 0;  // there will be no connection
    virtual void on_addresses_blocked() = 0;                    // likewise: filters hold every address

   protected:
    ~User() = default;
  };
  // What becomes of the connection after an answer.
  // bound: the client has logged in on it, and it is nobody else's from now on (bound_upstreams.h).
  enum class Reuse : std::uint8_t { never, bound, by_client, by_all };

  OriginLink(ExchangeContext& context, ExchangeLog& log, User& user);
  ~OriginLink();
  OriginLink(const OriginLink&) = delete;
  OriginLink& operator=(const OriginLink&) = delete;

  void route();  // first, once the request is decided: to the origin, or to the parent
  bool goes_to_parent() const { return parent_ != nullptr; }
  // What is dialled, or asked of the parent. A redirected client is taken to the address it meant to reach: what it
  // calls that may be a lie. Before both comes the name that safe search has for the host.
  DialTarget target() const;

  std::optional<HttpError> take_inner();  // inside a tunnel: its connection, or why there is none
  // Whether the request may go there, as far as that is known before a name is resolved: `denied` by
  // access.deny_destinations, `blocked` because of the address (see ExchangeLog::deny_by_address()).
  enum class Access : std::uint8_t { allowed, denied, blocked };
  Access access();
  // Not inside a tunnel, one of these:
  bool take_pooled();  // false: none is idle that may be used
  void dial();         // the user hears of it later; meanwhile the body is not read
  // Where nothing of an answer has come.
  bool may_retry() const;
  void retry();
  // False: the connection, which has ended, is all that there is to the origin, or the request must not be sent again,
  // or was often enough. Else it waits for a place at the origin, and the user hears of it later (see PlaceWait).
  bool wait_after_end();

  bool is_connected() const { return upstream_ != nullptr; }
  const UpstreamConnection& upstream() const { return *upstream_; }
  Transport& transport() const;
  bool is_reused() const;
  bool is_bound() const;
  // Whether a login may bind the connection: not inside a tunnel, whose connection is nobody else's anyway, and not of
  // a client that is a proxy, since it may speak for many on one connection.
  bool may_bind() const;
  bool has_lost_bound() const;      // the one that the client had logged in on has ended
  bool passes_proxy_login() const;  // the parent gets the client's Proxy-Authorization

  void release(Reuse reuse);  // and no dialling either
  void distrust();            // the origin has sent octets that answer nothing
  UpstreamPtr detach();       // for the tunnel
  // Of a connection that has failed, why; of an answer of a parent's that the client must not get.
  HttpError failure(int error);
  std::optional<HttpError> parent_error(int status);

 private:
  std::optional<HttpError> tls_error();
  std::optional<HttpError> challenge_error();
  bool may_dial(const Endpoint& peer) override;
  void on_connected(UniqueFd fd, const Endpoint& peer) override;
  void on_dial_failed(const HttpError& error) override;
  void on_tls_deadline();
  bool may_send_to(const Endpoint& peer);
  bool is_repeatable() const;
  bool may_wait_for_place();
  void wait_for_place();
  UpstreamPtr take_bound();
  std::string bound_key() const;
  UpstreamPtr take_idle();
  OwnUpstreams* own_upstreams() const;
  std::string pool_key() const;
  void append_parent_key(std::string& key) const;
  bool is_inside() const;
  void use(UpstreamPtr upstream);

  ExchangeContext& context_;
  ExchangeLog& log_;
  User& user_;
  const ParentProxy* parent_ = nullptr;  // the request goes to it
  UpstreamPtr upstream_;
  std::unique_ptr<Connector> connector_;  // from the first dial on
  std::unique_ptr<PlaceWait> place_;      // from the first refusal on
  Timer tls_deadline_;
  Milliseconds dialled_at_{0};
  bool retried_ = false;
  bool speaks_for_many_ = false;  // the client is a proxy
};

}  // namespace bloomwall::proxy
