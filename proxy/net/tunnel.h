// Relays octets both ways between a client and the far end, after CONNECT or an upgrade: half close, back-pressure, idle
// time-out. After CONNECT the client's first octet decides: 0x16 must go on as a ClientHello, whose server name is judged
// before one octet of it is relayed (HelloGate); anything else is opaque and passes at once, as does everything from the
// far end, so protocols in which the server speaks first do not wait.
// Idle, it holds no buffer. Owned by a ClientConnection; destroyed by the Graveyard only. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "proxy/net/client_info.h"
#include "proxy/net/hello_gate.h"
#include "proxy/net/request_log.h"
#include "proxy/net/worker_state.h"

namespace bloomwall::proxy {

class Tunnel final : public Buried {
 public:
  // What is remembered of the request that opened it, for the SNI's verdict and for the log line at its end.
  struct Start {
    SnapshotPtr snapshot;
    std::string method, target, host;
    filter::Verdict verdict;
    DecisionId decision_id;
    RequestTimes times;
    std::uint64_t client_received_before = 0, client_sent_before = 0;  // octets of this client's earlier requests
    int status = 200;
    bool is_connect = true;  // the client's first octets are looked at
    bool http10 = false;
    bool to_parent = false;
  };
  class Owner {
   public:
    virtual Stream& client_stream() = 0;
    virtual const ClientInfo& client_info() const = 0;
    virtual void on_tunnel_end() = 0;  // once; both streams are closed

   protected:
    ~Owner() = default;
  };

  Tunnel(WorkerState& state, Owner& owner, UpstreamPtr upstream, Start start);
  ~Tunnel() override;
  void close();  // idempotent
  // What the client sent before; false: the tunnel is over.
  bool take_early(std::span<const char> bytes);

 private:
  // One direction's reader.
  class Side final : public Stream::Handler {
   public:
    Side(Tunnel& tunnel, bool is_client) : tunnel_(tunnel), is_client_(is_client) {}
    std::size_t on_data(std::span<const char> bytes) override;
    void on_relayed() override;
    void on_end() override { tunnel_.on_side_end(*this); }
    void on_drained() override { tunnel_.on_side_drained(*this); }
    void on_write_failed(int error) override;
    void on_failed(int error) override;
    Stream& stream() const;
    Side& other() const { return is_client_ ? tunnel_.far_ : tunnel_.client_; }
    bool ended = false;

   private:
    Tunnel& tunnel_;
    bool is_client_;
  };
  void relay(Side& from, std::span<const char> bytes);
  std::size_t on_hello(std::span<const char> bytes);
  void open_gate();
  void on_side_end(Side& side);
  void on_side_drained(Side& side);
  bool is_finished() const;  // only while it is open
  void maybe_finish();
  void cut(const char* why);
  void on_timer();
  Milliseconds longest_wait() const;
  void write_log();

  WorkerState& state_;
  Owner* owner_;
  UpstreamPtr upstream_;
  Start start_;
  Side client_{*this, true}, far_{*this, false};
  std::unique_ptr<HelloGate> gate_;  // until the client's first octets are judged
  std::string sni_;
  const char* cut_why_ = "";
  Timer timer_;
  Milliseconds opened_;
};

}  // namespace bloomwall::proxy
