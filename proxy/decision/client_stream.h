// One request as an exchange sees it: its head, its body as it arrives, and the way back to the client. An HTTP/1
// session (client_session.h) is a sequence of such streams; each stream of an HTTP/2 connection could be one.
// The stream's owner passes the body to the exchange (see exchange.h); the exchange sends its response and its flow
// control through this interface.
// Lifetime: from the exchange's beginning to finish(), become_tunnel() or show_page(), the exchange's last calls.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "proxy/auth/user.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/io/transport.h"
#include "proxy/reply/parent_refusal.h"

namespace bloomwall::proxy {

class AskedQuestion;
class GatheredWrite;
class BoundUpstreams;
class OwnUpstreams;
class UpstreamConnection;
struct ClientInfo;
struct Field;
struct InterceptionStart;
struct RequestHead;
struct TunnelStart;
using UpstreamPtr = std::unique_ptr<UpstreamConnection>;

class ClientStream {
 public:
  // What becomes of the way back afterwards. With HTTP/1 that is the connection.
  enum class After : std::uint8_t {
    keep,   // the next request may come
    close,  // once everything that was sent has arrived
    cut,    // at once and visibly: the answer is not whole
    // Like close, without TLS's word for it: the origin has not given its own, so the client decides whether the answer
    // is whole.
    close_untold,
  };

  virtual const ClientInfo& info() const = 0;
  virtual const RequestHead* head() const = 0;         // nullptr: none was understood
  virtual bool asks_by_head() const { return false; }  // then: for HEAD all the same, so that no answer has a body
  virtual bool is_http2() const = 0;
  virtual AskedQuestion* question() { return nullptr; }  // nullptr: the request wants to be forwarded
  // An implicit tunnel: a ClientHello on a transparent listener, whose client does not know of the proxy and cannot
  // read an HTTP answer. It gets a tunnel, or its connection is closed.
  virtual bool is_implicit_tunnel() const = 0;
  virtual bool is_named_by_hello() const = 0;     // likewise, and the host in head() is the ClientHello's server name
  virtual bool was_answered() const = 0;          // a request before this one
  virtual OwnUpstreams& own_upstreams() = 0;      // of all the streams of one connection
  virtual BoundUpstreams* bound_upstreams() = 0;  // nullptr: HTTP/2, whose requests share one connection at both ends

  // The request's body.
  virtual bool request_ended() const = 0;               // all of the request was read
  virtual std::uint64_t body_left() const = 0;          // octets, where its length is known
  virtual std::span<const Field> trailers() const = 0;  // once it has ended
  virtual void pause(PauseReason reason) = 0;
  virtual void resume(PauseReasons reasons) = 0;

  // The answer.
  virtual void send(GatheredWrite& out, bool chunked) = 0;
  virtual std::size_t backlog() const = 0;        // octets of it that wait for the client
  virtual std::size_t unconfirmed() const = 0;    // as of a Transport
  virtual std::size_t kernel_room() const = 0;    // as of a Transport
  virtual std::uint64_t octets_sent() const = 0;  // of it, those that wait included
  virtual Milliseconds last_active() const = 0;   // when octets of either last moved

  virtual void finish(After after) = 0;
  virtual void become_tunnel(UpstreamPtr upstream, TunnelStart start) = 0;
  virtual void show_page(InterceptionStart start) = 0;  // CONNECT to a blocked host: the page comes inside TLS

  // ClientInfo::inside: the one connection that requests inside a tunnel go out on.
  virtual UpstreamPtr take_inner() = 0;  // nullptr: it is gone
  virtual void keep_inner(UpstreamPtr upstream) = 0;
  virtual bool has_inner() const = 0;

 protected:
  ~ClientStream() = default;
};

struct Decision;
struct Snapshot;
struct WorkerState;

// What the parts of one exchange have in common.
struct ExchangeContext {
  WorkerState& worker;
  ClientStream& client;
  std::shared_ptr<const Snapshot> snapshot;          // whose settings and rules apply to the exchange
  std::uint64_t judged_by;                           // WorkerState::editions when the exchange began
  UserPtr user = nullptr;                            // whose request it is; nullptr: no login was required
  std::uint32_t locked_for = 0;                      // seconds, where it is answered login_locked
  std::string negotiate_token = {};                  // for the client, where its login by Negotiate needs another leg
  std::optional<ParentRefusal> parent_refusal = {};  // of the client's CONNECT
  // Where the request goes, as decided. Until then the host is empty.
  std::string host = {};     // canonical
  std::string dialled = {};  // what safe search dials instead of that or of the address the client went to; or empty
  std::uint16_t port = 0;
  std::uint16_t host_field_port = 0;  // RequestRewrite::port
  void go_to(const Decision& decision);
};

}  // namespace bloomwall::proxy
