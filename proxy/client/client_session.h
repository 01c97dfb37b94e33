// One accepted client socket and what is spoken on it: HTTP/1, one request at a time, pipelined ones in order, each a
// ClientStream to its Exchange; then perhaps a tunnel, in which there may be requests again: those go out on the
// tunnel's connection, and end with it. Where TLS is intercepted, those requests are inside TLS of the proxy's own.
//
//   preface --PROXY header, or redirected and no TLS--> idle
//        \--redirected ClientHello--> exchanging
//   idle --octets--> reading_head --head--> exchanging --keep--> idle ...
//                                               |--tunnel--> tunnelling --HTTP/1 in it--> idle ...
//                                               |                \--TLS to be read--> intercepting --> idle ...
//                                               |                              HTTP/2 in it--> http2 --> lingering
//                                               |--page inside TLS--> intercepting --> idle ...
//                                               \--close--> lingering --> closed
//
// Idle, it holds no reader, no exchange and no buffer. Owned by the Worker's table; destroyed only by the
// DeferredDeletion, so no callback can outlive it, and none runs after close(). Thread: the worker that accepted it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "proxy/access/proxy_header.h"
#include "proxy/client/lingering_close.h"
#include "proxy/decision/client_info.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/http2_session.h"
#include "proxy/http/http1_reader.h"
#include "proxy/tunnel/implicit_tunnel.h"
#include "proxy/tunnel/interception.h"
#include "proxy/tunnel/tunnel.h"
#include "proxy/upstream/bound_upstreams.h"
#include "proxy/upstream/upstream.h"
#include "proxy/upstream/warm_readers.h"

namespace bloomwall::proxy {

class ClientSession final : public DeletedLater,
                            public ListLink<ClientSession>,  // of those that are idle; the owner's
                            public ClientStream,
                            public Tunnel::Owner,
                            public InnerOrigin::Owner,
                            public BoundUpstreams::Owner,
                            public Interception::Owner,
                            public Http2Session::Owner,
                            public Transport::Handler {
 public:
  enum class State : std::uint8_t {
    preface,
    idle,
    reading_head,
    exchanging,
    tunnelling,
    intercepting,
    http2,
    lingering,
    closed
  };
  class Owner {
   public:
    // A PROXY header has given the client's address. Nothing: the client is admitted; else the answer that refuses it.
    virtual std::optional<std::string> on_client_named(ClientSession& client) = 0;
    // The session has become idle, or is no longer idle. Once for each change, and before on_client_closed().
    virtual void on_client_idle(ClientSession& client, bool is_idle) = 0;
    virtual void on_client_closed(ClientSession& client) = 0;  // once

   protected:
    ~Owner() = default;
  };

  ClientSession(WorkerState& state, Owner& owner, UniqueFd fd, const Endpoint& endpoint, const std::string& listener,
                const ListenerRules& rules);
  // Likewise over an established transport, whose handler it becomes.
  ClientSession(WorkerState& state, Owner& owner, TransportPtr transport, const Endpoint& endpoint,
                const std::string& listener, const ListenerRules& rules);
  ~ClientSession() override;

  // Call it right after construction for a client that a firewall redirected. Its first octet decides: TLS becomes an
  // implicit tunnel to the host in its ClientHello; all else is HTTP.
  void expect_redirected(const Endpoint& destination);
  void note_reached(const Endpoint& local) { info_.reached = local; }  // ClientInfo::reached
  void close();  // idempotent; safe from any callback; aborts a running exchange
  // The listener is closed. A running exchange may end, and a request may still arrive: on a new connection within
  // timeouts.request_header, on one that is idle, or becomes so, within WorkerState::kIdleDrain; where another process
  // serves (WorkerState::has_successor), for as long as if nothing had happened, or nearly as long as the drain. Every
  // answer whose head has not yet been sent says that it is the last, and closes the connection.
  void drain();
  State state() const { return state_; }
  std::size_t requests_running() const;
  bool has_unseen() const { return transport_->has_unseen(); }  // octets have arrived that were not read
  const ClientInfo& client_info() const override { return info_; }
  bool holds_tls() const { return transport_->tls() != nullptr || http2_ != nullptr; }
  // A TLS handshake is expected: an answer in plaintext would be no use.
  bool awaits_tls() const { return preface_ != nullptr && preface_->tls != nullptr; }
  std::size_t table_index = 0;  // these two are for the owner
  bool counted_by_address = false;

 private:
  // The transport's handler.
  std::size_t on_data(std::span<const char> bytes) override;
  std::size_t ration() override { return exchange_ == nullptr ? SIZE_MAX : exchange_->upload_ration(); }
  void on_established() override;
  void on_end() override;
  void on_drained() override;
  void on_write_failed(int) override { on_client_gone(); }
  void on_failed(int error) override;

  struct Preface {
    ProxyHeaderReader header;
    TlsContextPtr tls;  // TLS after the header; nullptr: none
  };
  // Before the first request: the PROXY header of a balancer, or the first octets of a redirected client.
  std::size_t on_preface(std::span<const char> bytes);
  std::size_t on_redirected(std::span<const char> bytes);
  std::size_t on_hello(std::span<const char> bytes);
  void open_implicit_tunnel();
  void refuse_redirected(const HttpError& error);
  void secure(const TlsContext& context);  // the client speaks TLS from here on
  bool is_shaking_hands() const { return transport_->tls() != nullptr && !transport_->tls()->is_established(); }

  // A request and its answer.
  void begin_request();
  void note_certificate();
  bool is_certificate_valid();
  std::size_t read_request(std::span<const char> bytes);
  bool take(const ReadStep& step, GatheredWrite& out);
  void begin_exchange(const RequestHead* head);
  void fail_request(const HttpError& error);
  void end_request();
  bool may_ask_again() const;

  const ClientInfo& info() const override { return info_; }
  const RequestHead* head() const override { return head_; }
  bool asks_by_head() const override { return request_ != nullptr && request_->reader.asks_by_head(); }
  bool is_http2() const override { return false; }
  bool is_implicit_tunnel() const override { return hello_ != nullptr; }
  bool is_named_by_hello() const override { return hello_ != nullptr && hello_->is_named(); }
  bool was_answered() const override { return past_.was_answered; }
  OwnUpstreams& own_upstreams() override { return own_upstreams_; }
  BoundUpstreams* bound_upstreams() override { return &bound_; }
  bool request_ended() const override { return request_ == nullptr || request_->reader.at_end(); }
  std::uint64_t body_left() const override { return request_ == nullptr ? 0 : request_->reader.body_left(); }
  std::span<const Field> trailers() const override { return request_->reader.trailers(); }
  void pause(PauseReason reason) override { transport_->pause(reason); }
  void resume(PauseReasons reasons) override { transport_->resume(reasons); }
  void send(GatheredWrite& out, bool chunked) override { out.flush(*transport_, chunked); }
  std::size_t backlog() const override { return transport_->backlog(); }
  std::size_t unconfirmed() const override { return transport_->unconfirmed(); }
  std::size_t kernel_room() const override { return transport_->kernel_room(); }
  std::uint64_t octets_sent() const override { return transport_->bytes_out() - sent_before_; }
  Milliseconds last_active() const override { return transport_->last_active(); }
  void finish(After after) override;
  void become_tunnel(UpstreamPtr upstream, TunnelStart start) override;
  void show_page(InterceptionStart start) override;
  UpstreamPtr take_inner() override { return inner_ != nullptr ? inner_->take() : nullptr; }
  void keep_inner(UpstreamPtr upstream) override { inner_->keep(std::move(upstream)); }
  bool has_inner() const override { return inner_ != nullptr && inner_->is_here(); }
  void drop_inner() {
    if (inner_ != nullptr) inner_->drop(worker_.io.loop);
  }

  // A tunnel, and requests inside it.
  Transport& client_transport() override { return *transport_; }
  void on_tunnel_end() override { close(); }
  std::size_t on_requests_inside(UpstreamPtr upstream, ClientInfo::Inside inside, std::span<const char> held,
                                 std::span<const char> bytes) override;
  void on_interception(UpstreamPtr upstream, InterceptionStart start) override;
  void intercept(UpstreamPtr upstream, InterceptionStart start);
  void on_intercepted(UpstreamPtr upstream, ClientInfo::Inside inside, std::unique_ptr<TlsSession> tls) override;
  void on_interception_failed(std::string_view) override { close(); }
  void on_interception_undone(UpstreamPtr upstream, TunnelStart tunnel, std::string hello) override;
  void on_inner_end() override;
  void on_bound_end() override;
  void note_inner_failure(const TlsSession* tls);

  // HTTP/2 inside TLS.
  void begin_http2();
  void on_http2_idle(bool is_idle) override;
  void on_http2_origin_lost() override { note_inner_failure(http2_->origin_tls()); }
  void on_http2_end() override;
  void end_watch(bool is_by_us);

  void enter(State next);
  void go_idle();
  void set_idle(bool is_idle) {
    if (std::exchange(is_idle_, is_idle) != is_idle) owner_.on_client_idle(*this, is_idle);
  }
  // `is_last`: the client knows that nothing follows, and has said all that it will. `untold`: After::close_untold.
  void linger(bool is_last, bool untold = false);
  void on_client_gone();
  void on_timer();
  void on_idle_timer();

  struct Past {
    bool has_asked = false;     // one request at least has begun
    bool was_answered = false;  // and one was answered
  };

  WorkerState& worker_;
  Owner& owner_;
  ClientInfo info_;
  TransportPtr transport_;
  Timer timer_;
  std::unique_ptr<Preface> preface_;
  std::unique_ptr<ImplicitTunnel> hello_;
  WarmReaders<RequestReader>::Ptr request_;  // from its first octet on; nullptr also for an implicit tunnel
  const RequestHead* head_ = nullptr;        // of the request that is being exchanged; nullptr: none was understood
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Tunnel> tunnel_;
  std::unique_ptr<Interception> interception_;
  std::unique_ptr<Http2Session> http2_;  // from the origin's choice on, or else the client's
  std::unique_ptr<RefusalWatch> watch_;  // of intercepted TLS, until the first request
  std::unique_ptr<InnerOrigin> inner_;   // once there are requests inside a tunnel
  OwnUpstreams own_upstreams_;
  BoundUpstreams bound_;
  LingeringClose ending_;
  std::uint64_t sent_before_ = 0;  // octets, before the request
  bool is_idle_ = false;           // as the owner was told
  Past past_;
  bool is_arriving_ = false;  // timer_ is that of the PROXY header and the TLS handshake
  State state_ = State::idle;
};

}  // namespace bloomwall::proxy
