// One accepted client socket: one exchange at a time, pipelined requests in order, then perhaps a tunnel, in which there may
// be requests again: those go out on the tunnel's connection, and end with it.
//
//   greeting --PROXY header, or redirected and no TLS--> idle
//        \--redirected ClientHello--> exchanging
//   idle --octets--> reading_head --head--> exchanging --keep--> idle ...
//                                               |--tunnel--> tunnelling --HTTP/1 in it--> idle ...
//                                               \--close--> lingering --> closed
//
// Idle, it holds no exchange and no buffer. Owned by the Worker's table; destroyed only by the Graveyard, so no callback
// can outlive it, and none runs after close(). Thread: the worker that accepted it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proxy/http/proxy_header.h"
#include "proxy/net/exchange.h"
#include "proxy/net/exchange_pool.h"
#include "proxy/net/rate_check.h"
#include "proxy/net/tunnel.h"

namespace bloomwall::proxy {

class ClientConnection final : public Buried,
                               public ListLink<ClientConnection>,  // of those that are idle; the owner's
                               public Exchange::Owner,
                               public Tunnel::Owner,
                               public Transport::Handler {
 public:
  enum class State : std::uint8_t { greeting, idle, reading_head, exchanging, tunnelling, lingering, closed };
  class Owner {
   public:
    // Who the client is has come with a PROXY header. false: it may not stay; the answer stands in WorkerState::text.
    virtual bool on_client_named(ClientConnection& client) = 0;
    // It waits for its client to ask: from now on, or no longer. Once each time, and before on_client_closed().
    virtual void on_client_idle(ClientConnection& client, bool is_idle) = 0;
    virtual void on_client_closed(ClientConnection& client) = 0;  // once

   protected:
    ~Owner() = default;
  };

  ClientConnection(WorkerState& state, ExchangePool& exchanges, Owner& owner, UniqueFd fd, const Endpoint& endpoint,
                   const std::string& listener, const ListenerRules& rules);
  ~ClientConnection() override;

  // Right after construction: a firewall redirected it, and it knows nothing of the proxy. Its first octet says what it
  // speaks: TLS becomes a tunnel as if it had asked for one, to the host in its ClientHello; all else is HTTP.
  void expect_redirected(const Endpoint& destination);
  void close();  // idempotent; safe from any callback; cuts what is under way
  // The listener is closed. What is under way may end, and so may a request that is on its way: who has not spoken yet has
  // timeouts.request_header for it, who is idle between two requests has `idle`. Every answer closes.
  void drain(Milliseconds idle);
  State state() const { return phase_; }
  bool has_unseen() const { return transport_->has_unseen(); }  // the client has said more than was read
  const ClientInfo& client_info() const override { return info_; }
  bool awaits_tls() const { return tls_after_greeting_ != nullptr; }  // so that nothing can be said in the clear
  std::size_t table_index = 0;                                        // these two are the owner's
  bool counted_by_address = false;

 private:
  std::size_t on_data(std::span<const char> bytes) override;
  void on_end() override;
  void on_drained() override;
  void on_write_failed(int error) override;
  void on_failed(int error) override;

  Transport& client_transport() override { return *transport_; }
  void on_head_read() override;
  void on_exchange_end(Exchange::After after) override;
  void on_tunnel(UpstreamPtr upstream, Tunnel::Start start) override;
  void on_tunnel_end() override;

  // client_inside.cc: requests inside a tunnel.
  class Inner final : public Transport::Handler {  // their connection, while no request uses it
   public:
    explicit Inner(ClientConnection& client) : client_(client) {}
    UpstreamPtr upstream;

   private:
    std::size_t on_data(std::span<const char> bytes) override;
    void on_end() override;
    void on_drained() override {}
    void on_write_failed(int error) override;
    void on_failed(int error) override;
    ClientConnection& client_;
  };
  std::size_t on_requests_inside(UpstreamPtr upstream, ClientInfo::Inside inside, std::span<const char> held,
                                 std::span<const char> bytes) override;
  UpstreamPtr take_inner() override;
  void keep_inner(UpstreamPtr upstream) override;
  bool has_inner() const override { return inner_.upstream != nullptr; }
  void drop_inner();
  void on_inner_end();

  void secure(const TlsContext& context);  // from here on the client speaks TLS
  bool is_shaking_hands() const { return transport_->tls() != nullptr && !transport_->tls()->is_established(); }
  bool may_ask_again() const;
  void go_idle();
  void set_idle(bool is_idle);
  // `is_last`: the client knows that nothing follows, and has said all that it will.
  void linger(bool is_last);
  void rest_exchange();
  void on_client_gone();
  std::uint64_t octets_taken() const { return transport_->bytes_out() - transport_->backlog(); }  // by the client
  void on_timer();

  // client_arrival.cc: before the first request.
  struct Hello {  // of a redirected client, until there is a tunnel
    explicit Hello(BufferPool& pool) : octets(pool), memory(pool) {}
    ClientHelloReader reader;
    Chain octets;
    Reservation memory;  // what the reader holds
    RequestTimes times = RequestTimes::from_now();
  };
  std::size_t on_greeting(std::span<const char> bytes);
  std::size_t on_redirected(std::span<const char> bytes);
  std::size_t on_hello(std::span<const char> bytes);
  void open_unasked_tunnel();
  void refuse_redirected(const HttpError& error);
  void relay_hello();

  WorkerState& state_;
  ExchangePool& exchanges_;
  Owner& owner_;
  ClientInfo info_;
  TransportPtr transport_;
  Timer timer_;
  std::unique_ptr<ProxyHeaderReader> greeting_;
  std::unique_ptr<Hello> hello_;
  TlsContextPtr tls_after_greeting_;
  std::unique_ptr<Exchange> exchange_;
  std::unique_ptr<Tunnel> tunnel_;
  Inner inner_{*this};
  RateCheck rate_;              // of what waits for a client that is idle or lingers
  std::uint64_t lingered_ = 0;  // octets dropped while lingering
  bool close_when_drained_ = false;
  bool is_idle_ = false;      // as the owner was told
  bool has_asked_ = false;    // one request at least has begun
  bool inner_used_ = false;   // a request has been sent on it
  bool is_arriving_ = false;  // timer_ is that of the PROXY header and the TLS handshake
  State phase_ = State::idle;
};

}  // namespace bloomwall::proxy
