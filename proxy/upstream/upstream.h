// Connections to origins and parents, and the pool in which a worker keeps those that may carry another request. A
// connection enters the pool only after an exact message end, and leaves it by being taken (the one used last first, so
// that spare ones age and go), or by being closed: after a time, when it becomes readable, because nothing it could say
// now is an answer to us, or when there is no room. Room is what set_limits() says, or as many connections as were in
// use at one time lately (RecentPeak): a thousand clients of one origin would else dial it again and again. So
// there are never more than were in use once, and what the limits allow.
//
// HTTP/1 has no numbers on its answers: octets that a server sends beyond one (a body after HEAD, a Content-Length that
// is too small, the answer to a request that it saw in a body it did not read) would be read as the answer to the next
// request on the connection. So:
//  - a client's connection takes back its own at once (OwnUpstreams): what one answer brings too much hits nobody who
//    did not ask for it, as without a proxy. That keeps one connection a client to a host, and no flood of new ones.
//    A client that is itself a proxy speaks for many, and has none of its own. A connection whose request had a body
//    that could be read as another request is closed (HiddenRequestSearch): the client may have written it to get what
//    the filters block;
//  - another client gets it only after answers that leave no doubt where they end (Standing::clear), all of those that
//    came on it, however long it has rested: an origin, or whoever makes it answer, chooses when the surplus comes. Nor
//    where its own client took it back before it had rested: its answers may be those of earlier requests since;
//  - and only once it has rested, unread, for kRest as long as its host is not trusted, which it is after kProofs such
//    rests, of connections after whatever answer;
//  - the kernel is asked, at the moment of taking, whether anything has come (the event loop may not know of it yet);
//  - a host that has sent such octets within kRest of an answer's end is distrusted: none of its connections is kept
//    for kDistrust. What an idle connection says later is no such sign: some servers announce that they close it.
// What remains: octets that come later than kRest after a plain answer, or, of a host that is trusted, after the next
// request has reached it (the Download asks whether the request had, see Transport::unconfirmed()).
//
// A server may close an idle connection while a request is on its way to it. A request that may be sent again is, on a
// new connection. One that must not be (RFC 9110 section 9.2.2: POST and others that are not idempotent; and any with a
// body, which is not kept) goes out on an idle connection by the rules of take_fresh(), which are those of haproxy's
// "http-reuse safe", and stricter by the connection's age:
//  - an earlier request of the same client's connection was answered: such a client knows that a connection may close
//    before an answer, and its own rules say what to do then. The first request is dialled for;
//  - the connection was used less than kFresh ago, and the kernel knows of nothing that has come on it since;
//  - it is the client's own, or its host is trusted.
// Where the connection closes all the same, the client's is closed, without an answer; nothing is sent a second time.
// Cost: make() one hash look-up, take() one and one system call, put() none. Thread: the loop's. The pool outlives its
// connections.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "proxy/io/endpoint.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/handles.h"
#include "proxy/io/intrusive_list.h"
#include "proxy/io/transport.h"
#include "proxy/telemetry/counters.h"
#include "proxy/tls/tls_session.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/origin_places.h"

namespace bloomwall::proxy {

class UpstreamPool;
class UpstreamConnection;
struct IdleOfHost;  // tags of the lists an idle connection is in
struct IdleOfClient;
struct IdleByAge;

// The largest of the counts that were noted within the last kWindow, and up to as long before.
class RecentPeak {
 public:
  static constexpr Milliseconds kWindow{10'000};
  std::size_t note(std::size_t count, Milliseconds now);  // the peak, this count included

 private:
  Milliseconds begin_{0};  // of the window of `now_`
  std::size_t now_ = 0, before_ = 0;
};

// What connections with the same key share. Lives while there is one.
struct UpstreamHost {
  std::string_view key;
  std::size_t members = 0;  // busy or idle
  std::size_t idle_count = 0;
  RecentPeak peak;      // of those that are busy
  unsigned proofs = 0;  // connections that rested and had said nothing
  bool distrusted = false;
  IntrusiveList<UpstreamConnection, IdleOfHost> ready;     // may be used at once, the one used last first
  IntrusiveList<UpstreamConnection, IdleOfHost> resting;   // must rest, in the order they began to
  IntrusiveList<UpstreamConnection, IdleOfHost> doubtful;  // of their clients alone, likewise
};

// The idle connections that carried a client's requests, the one used last first. A member of what speaks to the
// client. When the client goes, or has used kMost others since, what no other client may have is closed.
class OwnUpstreams {
 public:
  static constexpr std::size_t kMost = 8;
  OwnUpstreams() = default;
  ~OwnUpstreams();
  OwnUpstreams(const OwnUpstreams&) = delete;
  OwnUpstreams& operator=(const OwnUpstreams&) = delete;

 private:
  friend class UpstreamPool;
  IntrusiveList<UpstreamConnection, IdleOfClient> idle_;
  std::size_t count_ = 0;
};

// What the last exchange says of a connection.
enum class Standing : std::uint8_t {
  clear,     // a GET without a body, and a final answer alone, whose framing gave its length
  doubtful,  // anything else: servers are known to send more after such an answer, or such a request
};

// One connected socket. Busy: its transport speaks to an exchange or a tunnel. Idle: to the pool.
class UpstreamConnection final : public DeletedLater,
                                 public ListLink<IdleOfHost>,
                                 public ListLink<IdleOfClient>,
                                 public ListLink<IdleByAge>,
                                 Transport::Handler {
 public:
  // `fd`: the socket under the transport, for OwnConnections; -1: there is none.
  // `is_stream`: of another connection, which is counted instead.
  UpstreamConnection(UpstreamPool& pool, UpstreamHost& host, TransportPtr over, int fd, const Endpoint& reached,
                     bool is_stream = false);
  ~UpstreamConnection() override;
  void secure(std::unique_ptr<TlsSession> session, Transport::Handler& user);  // from here on TLS is spoken

  TransportPtr transport;
  const Endpoint peer;
  bool reused = false;        // it has carried a request before this one
  std::string bound_as = {};  // BoundUpstreams: the key of who has logged in on it; empty: nobody has

 private:
  friend class UpstreamPool;
  std::size_t on_data(std::span<const char> bytes) override;
  void on_end() override;
  void on_drained() override {}
  void on_write_failed(int error) override;
  void on_failed(int error) override;

  UpstreamPool& pool_;
  UpstreamHost& host_;
  OwnConnections::Entry entry_;
  const bool is_stream_;
  Timer expiry_;
  Milliseconds idle_since_{0};
  OwnUpstreams* owner_ = nullptr;  // whose list it is in
  Standing standing_ = Standing::clear;
  bool must_rest_ = false;  // false also once its rest has counted among the proofs
};
using UpstreamPtr = std::unique_ptr<UpstreamConnection>;

class UpstreamPool {
 public:
  static constexpr Milliseconds kRest{1000}, kDistrust{600'000};
  // Servers close what has idled for a time of theirs: gunicorn after 2 s by default, node and Apache after 5.
  static constexpr Milliseconds kFresh{1000};
  static constexpr unsigned kProofs = 32;

  // `own`: told of every connection; `places`: and of every origin; or nullptr. `rest` and `distrust_for`: kRest and
  // kDistrust but in tests.
  UpstreamPool(IoContext& io, Counters& counters, OwnConnections* own = nullptr, OriginPlaces* places = nullptr,
               Milliseconds rest = kRest, Milliseconds distrust_for = kDistrust)
      : io_(io), counters_(counters), own_(own), places_(places), rest_(rest), distrust_for_(distrust_for) {}
  ~UpstreamPool() { clear(); }
  UpstreamPool(const UpstreamPool&) = delete;
  UpstreamPool& operator=(const UpstreamPool&) = delete;

  // `key` says where the connection leads and how; only equal keys share connections. It is read from now on.
  UpstreamPtr make(UniqueFd fd, const Endpoint& peer, std::string_view key, Transport::Handler& user);
  // Likewise over a transport that stands already and has its handler.
  UpstreamPtr make(TransportPtr over, const Endpoint& peer, std::string_view key) {
    return make(std::move(over), -1, peer, key);
  }
  // Likewise, of a stream of `carrier`, as one request uses it; it must not be put() back.
  UpstreamPtr make_stream(TransportPtr stream, const UpstreamConnection& carrier) {
    return std::make_unique<UpstreamConnection>(*this, carrier.host_, std::move(stream), -1, carrier.peer, true);
  }
  // nullptr: none is idle that may be used now. `own`: its client's; nullptr: that speaks for many.
  // For a request that may be sent again:
  UpstreamPtr take(std::string_view key, Transport::Handler& user, OwnUpstreams* own = nullptr);
  // And for one that must not be.
  UpstreamPtr take_fresh(std::string_view key, Transport::Handler& user, OwnUpstreams* own);
  void put(UpstreamPtr connection, Standing standing, Milliseconds keep_for, OwnUpstreams* own = nullptr);
  // It has sent octets that answer nothing: its host's idle connections are closed, and none is kept for kDistrust.
  void distrust(UpstreamConnection& connection);
  // Whether this process has connections of that key, besides the one given, if any.
  bool has_others(std::string_view key, const UpstreamConnection* besides) const;
  bool spare(std::string_view key);  // closes an idle one, that whose loss costs least; false: there is none
  void clear();
  // Idle ones beyond those that were in use lately; 0: nothing is kept.
  void set_limits(std::size_t most_idle, std::size_t most_idle_per_host);

 private:
  friend class UpstreamConnection;
  friend class OwnUpstreams;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  static constexpr std::size_t kMostDistrusted = 1024;  // hosts; beyond, one of them is forgotten
  static constexpr unsigned kMostLooks = 64;            // at idle connections, for one that lives
  UpstreamPtr make(TransportPtr over, int fd, const Endpoint& peer, std::string_view key);
  UpstreamHost* find_idle(std::string_view key);
  bool has_rested(const UpstreamConnection& idle, Milliseconds now) const { return now - idle.idle_since_ >= rest_; }
  bool is_silent(UpstreamConnection& idle);
  static void count_rest(UpstreamConnection& idle);
  void count_rests(UpstreamHost& host, Milliseconds now);
  UpstreamConnection* find_own(UpstreamHost& host, OwnUpstreams* own, Milliseconds since);
  UpstreamConnection* find_spare(UpstreamHost& host, bool must_rest, Milliseconds now);
  void give_to(OwnUpstreams& own, UpstreamConnection& idle);
  static void leave_client(UpstreamConnection& idle);
  UpstreamPtr hand_out(UpstreamConnection& idle, Transport::Handler& user, Milliseconds now);
  UpstreamPtr remove(UpstreamConnection& connection);
  bool is_distrusted(std::string_view key);
  void on_surplus(UpstreamConnection& connection);
  void drop(UpstreamConnection& connection);
  void drop_idle(UpstreamHost& host);
  void forget(UpstreamHost& host);

  IoContext& io_;
  Counters& counters_;
  OwnConnections* const own_;
  OriginPlaces* const places_;
  const Milliseconds rest_, distrust_for_;
  std::unordered_map<std::string, UpstreamHost, Hash, std::equal_to<>> hosts_;
  std::unordered_map<std::string, Milliseconds, Hash, std::equal_to<>> distrusted_;  // keys, and until when
  IntrusiveList<UpstreamConnection, IdleByAge> by_age_;  // owns what is idle; idle for longest first
  std::size_t idle_ = 0, members_ = 0;                   // of all hosts; members are busy or idle
  RecentPeak peak_;                                      // of those that are busy
  std::size_t most_idle_ = 4096, most_idle_per_host_ = 128;
};

// The connection of a tunnel in which the client speaks HTTP/1, while no request uses it. There is this one for all of
// them, as if the two ends were joined: it is never shared, nothing is dialled on behalf of a Host field, and when one
// end goes so does the other. Thread: the worker's.
class InnerOrigin final : Transport::Handler {
 public:
  class Owner {
   public:
    virtual void on_inner_end() = 0;  // it is gone

   protected:
    ~Owner() = default;
  };
  explicit InnerOrigin(Owner& owner) : owner_(owner) {}

  bool is_here() const { return upstream_ != nullptr; }
  const TlsSession* tls() const { return is_here() ? upstream_->transport->tls() : nullptr; }  // nullptr: plain
  void keep(UpstreamPtr upstream);
  UpstreamPtr take();  // nullptr: it is gone
  void drop(EventLoop& loop);

 private:
  std::size_t on_data(std::span<const char> bytes) override;
  void on_end() override { owner_.on_inner_end(); }
  void on_drained() override {}
  void on_write_failed(int) override { owner_.on_inner_end(); }
  void on_failed(int) override { owner_.on_inner_end(); }

  Owner& owner_;
  UpstreamPtr upstream_;
  bool was_used_ = false;  // a request has been sent on it
};

}  // namespace bloomwall::proxy
