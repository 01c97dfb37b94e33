// One thread of the data plane: an event loop with its own listening sockets, connections, resolver and upstream pool.
// Worker::Shared is what workers share: immutable, atomic, or behind a lock that is held for one look-up.
// Threads: constructed by the server's; publish(), drain(), stop() and the counters may be used from any thread; the
// rest happens on the worker's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/client/client_session.h"
#include "proxy/dns/cares_resolver.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/pipe_pool.h"
#include "proxy/io/tcp_transport.h"
#include "proxy/query_log/request_feed.h"
#include "proxy/upstream/acceptor.h"
#include "proxy/upstream/client_limits.h"
#include "proxy/worker/server.h"

namespace bloomwall::proxy {

// Sockets of clients that were refused with an answer. They stay open for a moment, because closing a socket with
// unread octets sends RST, and that may destroy the answer before the client has read it. Bounded: the newest replaces
// the oldest.
// Thread: the loop's.
class RefusedClients {
 public:
  static constexpr std::size_t kMost = 16;
  static constexpr Milliseconds kFor{1000};

  explicit RefusedClients(EventLoop& loop)
      : timer_(loop.timers(), [](void* self) { static_cast<RefusedClients*>(self)->sockets_ = {}; }, this) {}

  void tell(UniqueFd fd, std::string_view answer) {
    [[maybe_unused]] const auto sent = ::send(fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    ::shutdown(fd.get(), SHUT_WR);
    sockets_[next_++ % kMost] = std::move(fd);
    timer_.set(kFor);
  }

 private:
  Timer timer_;
  std::array<UniqueFd, kMost> sockets_;
  std::size_t next_ = 0;
};

class AnswerDoors;

class Worker final : public Acceptor::Handler, public ClientSession::Owner {
 public:
  struct Shared {  // by all workers
    Edition edition;
    AccessLog& log;
    ClientLimits& limits;
    const std::vector<std::unique_ptr<Worker>>& peers;  // every worker; complete before the first starts
    const OwnAddresses& own;
    OriginPlaces& places;
    RequestRate& rate;
    Authenticator& authenticator;
    RecentDenials& recent_denials;
    SelfService* self = nullptr;
    QueryLog* query_log = nullptr;              // nullptr: nobody keeps or watches requests
    OwnConnections* own_connections = nullptr;  // kept where a listener is transparent
    std::string instance;                       // stands in Via
    std::size_t dns_cache_entries = 0;          // each worker's share
    std::size_t workers = 1;
  };
  // Error: what the resolver objects to.
  static tl::expected<std::unique_ptr<Worker>, std::string> create(const Shared& shared);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void add_listener(ListeningSocket socket, std::size_t index);  // before start(); its place in settings.listeners
  void add_answers(ListeningSocket socket, std::size_t index);   // likewise, in settings.answers
  // Other descriptors of all its listeners' queues; not once it drains.
  tl::expected<void, std::string> share_listeners(std::vector<ListeningSocket>& out) const;
  void start();
  void join();
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  void publish(Edition next, std::function<void()> adopted);  // called on the worker's thread
  void announce();                                            // goes on accepting, but every answer closes
  // `has_successor`: which has the listeners' queues. `closed`: nobody is accepted any more; on the worker's thread.
  void drain(Milliseconds deadline, bool has_successor, std::function<void()> closed);
  void stop();
  std::uint64_t cut_tunnels() const { return cut_.tunnels.load(std::memory_order_relaxed); }
  std::uint64_t cut_requests() const { return cut_.requests.load(std::memory_order_relaxed); }

  // `take` is called on the worker's thread.
  void collect_refusals(std::function<void(const std::vector<TlsRefusals::Row>&)> take);
  // Likewise, who has asked and what was blocked since the last call.
  void collect_sums(std::function<void(FeedSums)> take);
  void add_counters_to(Counters& sum) const;
  void add_gauges_to(Gauges& sum) const;
  Milliseconds last_turn() const { return loop_.last_turn(); }

 private:
  void tell_refusals(TlsRefusals::Event event);
  void spare_at_peers(std::string_view key);
  explicit Worker(const Shared& shared);
  void run();
  // worker_admission.cc: admission of clients.
  void on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) override;
  ClientLimits::Admission admit(const Endpoint& client, bool named_later, bool& counted);
  ClientLimits::Admission admit_in_place(const Endpoint& client, bool named_later, bool& counted);
  template <typename May>
  bool shed_first(std::size_t most, May may);
  bool shed_idle();
  bool shed_idle_of(const ClientLimits::Key& client);
  bool shed_at_peer();
  bool shed_holder();
  void make_room();
  void shed_for_peer(std::size_t workers_left);
  bool is_stranger(const Endpoint& client) const;
  void note_stranger(const Endpoint& client);
  void on_accept_paused() override { counters_.accept_pauses_total.add(); }
  void refuse(UniqueFd fd, const Endpoint& client, const Acceptor& from, const HttpError& why, bool in_words);
  std::string refusal_of(const ClientInfo& client, const HttpError& why, bool in_words);
  void log_refusal(const ClientInfo& client, const HttpError& why, const DecisionId& id, std::size_t told);
  std::optional<std::string> on_client_named(ClientSession& client) override;
  void on_client_idle(ClientSession& client, bool is_idle) override;

  void on_client_closed(ClientSession& client) override;
  void adopt(Edition next);
  void adopt_listeners(const Snapshot& next);
  void begin_drain(Milliseconds deadline, bool has_successor, const std::function<void()>& closed);
  void finish();
  void maybe_drained();
  void count_cut(const ClientSession& client);

  Counters counters_;
  EventLoop loop_;
  BufferPool pool_;
  std::vector<char> scratch_;
  PipePool pipes_;
  HangupWatch hangups_{loop_};
  StepQueue steps_{loop_};
  IoContext io_;
  std::unique_ptr<CaresResolver> resolver_;
  ClientLimits& limits_;
  const std::vector<std::unique_ptr<Worker>>& peers_;
  RefusedClients refused_;
  std::unique_ptr<WorkerState> state_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::unique_ptr<AnswerDoors> answers_;
  std::vector<ListenerRules> listeners_;                 // by Acceptor::index()
  std::vector<std::unique_ptr<ClientSession>> clients_;  // each knows its place
  IntrusiveList<ClientSession, ClientSession> idle_;     // longest idle first
  struct Cut {                                           // at the end of a drain
    std::atomic<std::uint64_t> tunnels{0}, requests{0};
  };
  struct Told {                // in the log
    Milliseconds stranger{0};  // when one last was; 0: never
    std::uint64_t strangers_untold = 0;
    Milliseconds refusals_since{0};  // beginning of the second that `refusals` is of
    unsigned refusals = 0;
  };
  Told told_;
  bool listeners_closed_ = false;
  Timer drain_deadline_;
  Event lacks_memory_;  // make_room(), when nothing of a connection is on the stack
  std::thread thread_;
  Cut cut_;
  std::atomic<bool> ended_{false};
};

}  // namespace bloomwall::proxy
