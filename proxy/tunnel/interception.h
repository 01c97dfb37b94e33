// Ends the TLS of a tunnel at this proxy, in the order of least risk: TLS with the origin, which is verified; then a
// certificate for the client; then TLS with the client, whose ClientHello was read before. The origin is verified
// before the client trusts anything, and a bad one becomes a 502 page under a valid certificate.
// ALPN is mirrored: the origin is offered what the client offers of HTTP/2 and HTTP/1.1, and what it chose is all that
// the client is offered. So both ends speak one version, and a client with nothing in common with the origin gets alert
// 120, or a tunnel.
// For a blocked host there is no origin: the client gets the page.
//
//   origin handshake --verified or failed--> certificate --> Owner::on_intercepted
//
// Where the origin asks for a client certificate and nothing is enforced on its host, another connection to it is made
// and the client's own ClientHello goes out on that: only the client itself can answer. Later connections to it are
// tunnelled at once (OriginFacts).
// Bounds: limits.handshakes at one time from the ClientHello on, timeouts.tls_handshake, limits.leaves_per_client
// certificates a second.
// Owned by a ClientSession, which does not read its client meanwhile; destroyed by the DeferredDeletion only.
// Source: research of TLS interception, RFC 8446. Thread: the worker's; the CA's key may be used by another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/access/tls_decision.h"
#include "proxy/access/tls_refusals.h"
#include "proxy/decision/client_info.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/telemetry/counters.h"
#include "proxy/tls/client_hello.h"
#include "proxy/tls/leaf_cache.h"
#include "proxy/tunnel/tunnel_log.h"
#include "proxy/upstream/connector.h"
#include "proxy/upstream/upstream.h"

namespace bloomwall::proxy {

class TlsInspection;
struct WorkerState;

// What is to be intercepted.
struct InterceptionStart {
  ClientInfo::Inside inside;         // the host is that of the certificate
  std::string hello;                 // what the client has sent: its ClientHello, and perhaps more
  InterceptionLogPtr log = nullptr;  // of the CONNECT; never null where it begins
  bool may_step_back = false;        // nothing is enforced on the host, and it may become a tunnel instead
};

class Interception final : public DeletedLater, public Transport::Handler, public Connector::Handler {
 public:
  class Owner {
   public:
    virtual const ClientInfo& client_info() const = 0;
    // Once, one of these. `upstream`: nullptr for a page, and where inside.failure says why there is none; `tls` has
    // read the ClientHello.
    virtual void on_intercepted(UpstreamPtr upstream, ClientInfo::Inside inside, std::unique_ptr<TlsSession> tls) = 0;
    virtual void on_interception_failed(std::string_view why) = 0;  // the client's connection must end
    // The origin can be spoken to only by the client itself, over this new connection.
    virtual void on_interception_undone(UpstreamPtr upstream, TunnelStart tunnel, std::string hello) = 0;

   protected:
    ~Owner() = default;
  };

  // `upstream`: the tunnel's far end; nullptr: a page is shown.
  Interception(WorkerState& worker, Owner& owner, UpstreamPtr upstream, InterceptionStart start);
  ~Interception() override;
  void begin();  // once, when the owner has it; it may end at once
  // A page whose client has not sent its ClientHello before: its next octets, all of which are kept. True: that is all,
  // and the client must not be read before present() has ended. No ClientHello: the owner is told.
  bool on_hello(std::span<const char> bytes);
  bool awaits_hello() const { return awaits_hello_; }
  void expire();   // awaits_hello() has lasted too long; the owner is told
  void present();  // the certificate to the client, when it is its turn (StepQueue)
  void cancel();   // idempotent: the client is gone
  // From on_intercepted on the owner's, who writes it when the client's side is known too.
  InterceptionLogPtr take_log() { return std::move(start_.log); }

 private:
  // Of the origin's transport.
  std::size_t on_data(std::span<const char> bytes) override;
  void on_established() override;
  void on_end() override;
  void on_drained() override {}
  void on_write_failed(int) override {}  // what it has sent says why
  void on_failed(int error) override;

  // Of the new connection for a tunnel.
  bool may_dial(const Endpoint&) override { return true; }  // it is the address that was allowed before
  void on_connected(UniqueFd fd, const Endpoint& peer) override;
  void on_dial_failed(const HttpError& error) override { fail(error); }

  bool take_place();                 // false: it has given up
  bool step_back(TlsReason reason);  // false: the origin is not left to the client
  void note_origin_end(bool is_done);
  void give_up(InterceptionFailure reason, std::string_view why);
  bool leave_without_protocol();
  void read_offer();
  std::string_view client_alpn() const;
  void fail(const HttpError& error);
  void present_now();
  void on_leaf(const LeafCache::Answer& answer);
  void drop_upstream();

  WorkerState& worker_;
  Owner* owner_;
  const Endpoint client_;
  std::shared_ptr<Interception*> self_ = std::make_shared<Interception*>(this);
  std::shared_ptr<const TlsInspection> inspection_;  // of its beginning
  UpstreamPtr upstream_;
  InterceptionStart start_;
  ClientHelloReader reader_;
  std::unique_ptr<Connector> redial_;
  TlsReason undone_by_ = TlsReason::all;                                // while redial_ dials
  std::optional<std::chrono::steady_clock::time_point> shaking_since_;  // with the origin; nothing: not now
  StepQueue::Step presenting_{[](void* self) { static_cast<Interception*>(self)->present_now(); }, this};
  Timer deadline_;
  std::string_view origin_alpn_;  // what the origin is offered
  bool offers_http1_ = true;      // the client, or it offers nothing
  bool awaits_hello_ = false;
  bool has_place_ = false;       // among limits.handshakes
  bool lacks_protocol_ = false;  // client and origin have no version of HTTP in common
};

// Watches how an intercepted TLS connection of a client ends before its first request: a client that does not trust our
// authority says so by an alert, or only by leaving (tls_refusals.h). Results: WorkerState::refusals, counters, the
// access log's line of the CONNECT, and a warning of devices without the authority.
// Thread: the worker's.

class TlsSession;
struct ClientInfo;

class RefusalWatch {
 public:
  // Of the client's TLS, which begins now; both outlive it. `log`: of its CONNECT, which ends with the watch.
  RefusalWatch(WorkerState& worker, const ClientInfo& client, InterceptionLogPtr log)
      : worker_(worker), client_(client), log_(std::move(log)) {}
  void on_established(const TlsSession& tls);
  void on_request(const TlsSession* tls);  // the first, and the watch is over
  // Likewise. `sent_data`: something came, though no request: HTTP/2 begins before there is one.
  void on_end(const TlsSession* tls, bool is_by_us, bool sent_data);

 private:
  const std::string& host() const;
  void tell(std::optional<RefusalSignal> signal, TlsRefusals::Time now) const;
  std::string_view why(const TlsSession* tls, bool is_by_us) const;

  WorkerState& worker_;
  const ClientInfo& client_;
  InterceptionLogPtr log_;
  const TlsRefusals::Time begun_at_ = TlsRefusals::Clock::now();
  std::optional<TlsRefusals::Time> established_at_;
};

}  // namespace bloomwall::proxy
