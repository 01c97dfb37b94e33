// Relays octets both ways between a client and the far end, after CONNECT or an upgrade: half close, back-pressure,
// idle time-out. After CONNECT what the client says first is looked at before it goes on (TunnelPeek): TLS by its
// server name, HTTP/1 is handed back to be judged request by request; everything from the far end passes at once, but
// for an end without a word: a ClientHello for the proxy is waited for, since its client can be told by a page.
// It holds no part of the policy that let it in, and follows the settings of the moment. Each reload reviews it: where
// its host, its server name, the address of its far end or, after an upgrade, its URL is blocked by then, or the access
// rules have come to deny its client, its port or that address, it ends. TLS to a host that would be decrypted by then
// for its URL entries ends after timeouts.drain. Where clients must log in it also ends with its user, once that one's
// time is over.
// Idle, it holds no buffer. Owned by a ClientSession; destroyed by the DeferredDeletion only. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proxy/decision/client_info.h"
#include "proxy/decision/live_tunnels.h"
#include "proxy/decision/worker_state.h"
#include "proxy/telemetry/counters.h"
#include "proxy/tunnel/interception.h"
#include "proxy/tunnel/tunnel_log.h"
#include "proxy/tunnel/tunnel_peek.h"
#include "proxy/upstream/memory_wait.h"
#include "proxy/upstream/page_reader.h"

namespace bloomwall::proxy {

class Tunnel final : public DeletedLater, LiveTunnel, PageReader::Handler {
 public:
  class Owner {
   public:
    virtual Transport& client_transport() = 0;
    virtual const ClientInfo& client_info() const = 0;
    virtual void on_tunnel_end() = 0;  // once; both streams are closed
    // Instead: the client speaks HTTP/1 to the far end. `held` is the beginning of its first request, `bytes` are what
    // comes next; returns how many of these were used.
    virtual std::size_t on_requests_inside(UpstreamPtr upstream, ClientInfo::Inside inside, std::span<const char> held,
                                           std::span<const char> bytes) = 0;
    // Or: the client speaks TLS that the proxy is to end. `upstream`: nullptr for a page.
    virtual void on_interception(UpstreamPtr upstream, InterceptionStart start) = 0;

   protected:
    ~Owner() = default;
  };

  // `peek`: of a client whose ClientHello was read before there was a tunnel; nullptr: none was.
  Tunnel(WorkerState& state, Owner& owner, UpstreamPtr upstream, TunnelStart start, std::unique_ptr<TunnelPeek> peek);
  ~Tunnel() override;
  void begin();                                       // once, when the owner has it; it may end at once
  void close() { finish(TunnelEndCause::shutdown); }  // idempotent

 private:
  // One direction's reader.
  class Side final : public Transport::Handler {
   public:
    Side(Tunnel& tunnel, bool is_client);
    std::size_t on_data(std::span<const char> bytes) override;
    std::size_t ration() override;
    void on_relayed() override;
    void on_end() override { tunnel_.on_side_end(*this); }
    void on_drained() override { tunnel_.on_side_drained(*this); }
    void on_write_failed(int error) override;
    void on_failed(int error) override;
    Transport& transport() const;
    Side& other() const { return is_client_ ? tunnel_.far_ : tunnel_.client_; }
    bool is_through() const;
    void stop_waiting();  // for memory
    bool ended = false;

   private:
    Tunnel& tunnel_;
    MemoryWait wait_;
    bool is_client_;
  };
  void relay(Side& from, std::span<const char> bytes);
  std::size_t on_hello(TunnelPeek::Result result, std::span<const char> bytes);
  void on_answer(std::span<const char> bytes);
  std::size_t hand_over(std::span<const char> bytes);
  void intercept();
  TlsQuestion tls_question() const;
  void ask_by_now();
  void review() override;
  void renew_user();
  void on_pages_read() override;
  void cancel_page_wait();
  void cut_by_reload(Review review);
  bool is_to_be_intercepted();
  bool is_undecided() const;
  bool would_be_intercepted();  // for the URL entries of its host
  void note_name();
  void note_requests_inside();
  void release_held();
  void end_peek();
  void cut_by_peek();
  void refuse(const HttpError& error, TunnelEndCause cause);
  void count_verdict();
  void on_side_end(Side& side);
  bool is_owed_an_answer() const;
  void wait_for_hello(bool has_failed);
  void end_far();
  void on_side_drained(Side& side);
  bool is_finished() const;  // only while it is open
  void maybe_finish();
  void cut(std::string_view why, TunnelEndCause cause);
  void finish(TunnelEndCause cause);
  void on_timer();
  const conf::Config& settings() const { return state_.snapshot->settings; }
  Milliseconds longest_wait() const;
  Milliseconds user_wait() const;
  TunnelEnd end() const;
  void count_bytes();
  void write_log();

  WorkerState& state_;
  Owner* owner_;
  UpstreamPtr upstream_;
  TunnelStart start_;
  Side client_{*this, true}, far_{*this, false};
  Reservation url_memory_;            // of TunnelStart::target, which after an upgrade is as long as a head may be
  std::unique_ptr<TunnelPeek> peek_;  // until the client's first octets are judged
  std::uint64_t far_octets_before_ = 0;
  std::string sni_;
  std::string_view cut_why_;
  std::optional<HttpError> error_;  // what the proxy's own rules have against it
  // The far end has gone without a word; whether it has failed, and not just ended.
  std::optional<bool> far_failed_unheard_;
  bool hello_is_timed_ = false;            // timer_ is that of a hello, or a request line, that has begun
  bool is_counted_ = false;                // the verdict is among the counters
  PageReader::Wait* page_wait_ = nullptr;  // a review waits for the disk
  bool is_tls_ = false;                    // what was let through first
  std::optional<Milliseconds> ends_at_;    // its host has URL entries since a reload
  int cut_status_ = 0;                     // for the log, where it was not permitted; 0: TunnelStart::status
  Timer timer_;
  Milliseconds opened_;
};

}  // namespace bloomwall::proxy
