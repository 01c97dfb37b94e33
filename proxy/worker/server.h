// The data plane: listening sockets and one Worker (thread, event loop, resolver, upstream pool) per configured thread.
// Call order: create -> start -> publish* -> (drain | stop) -> wait. create() binds every listener with SO_REUSEPORT
// once per worker, before any thread runs, so that a bad address is an error and not a half-started daemon.
// Threads: every member may be called from any one thread at a time; none of them waits for a loop except wait().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/auth/authenticator.h"
#include "proxy/decision/snapshot.h"
#include "proxy/io/endpoint.h"
#include "proxy/worker/workers.h"

namespace bloomwall::proxy {

class AccessLog;    // proxy/log/access_log.h
class QueryLog;     // proxy/query_log/query_log.h
class SelfService;  // proxy/decision/self_service.h

class Server final : public Workers {
 public:
  // The error names the listener: "listeners[1] 10.0.0.1:3128: Cannot assign requested address".
  // `passed`: sockets that listen already, one or several of an address; they serve the listener with that address.
  // One of the service manager's must have a listener; others that have none are closed.
  // `own`: where else this process listens; requests never go there either.
  // `tokens`: what programs log in with; nullptr: none.
  // `self`: takes reports of mistakes; nullptr: nobody does.
  // `query_log`: is told of each request; nullptr: nothing is.
  // `logins`: share_logins() of the previous process; empty: nobody is remembered.
  // `log`, `tokens`, `self` and `query_log` must outlive the server. listeners, workers and dns are taken from this
  // edition and are sealed.
  static tl::expected<std::unique_ptr<Server>, std::string> create(
      Edition edition, AccessLog& log, std::vector<ListeningSocket> passed = {}, const std::vector<Endpoint>& own = {},
      const CurrentTokens* tokens = nullptr, SelfService* self = nullptr, QueryLog* query_log = nullptr,
      const UniqueFd& logins = {});
  ~Server();  // stop() and wait()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void start();
  // In the order of settings.listeners, with the ports the kernel chose.
  const std::vector<Endpoint>& addresses() const;
  const std::vector<Endpoint>& answer_addresses() const;  // likewise of settings.answers; of a unix socket 0.0.0.0:0
  void publish(const Edition& next, const std::function<void()>& adopted = {}) override;

  // Before drain(): listeners stay open, and every answer carries "Connection: close", so that clients move to another
  // proxy.
  void announce();
  // Accepts what is in the listen queues, closes the listeners, answers every request that has arrived or arrives
  // within timeouts.request_header on a new connection (5 s on one that is idle or becomes so), lets tunnels continue,
  // and closes what is left at the deadline.
  // `has_successor`: another process has the listeners (share_listeners()) and what is in their queues.
  // `closed` is called on the last worker's thread once none of them accepts any more.
  void drain(std::chrono::milliseconds deadline, bool has_successor = false, const std::function<void()>& closed = {});
  // Another descriptor of each queue, for another process; not once it drains.
  tl::expected<std::vector<ListeningSocket>, std::string> share_listeners() const;
  void stop();  // cuts everything now
  void wait();  // until every worker has ended
  bool ended() const;
  struct Cut {
    std::uint64_t tunnels = 0, requests = 0;
  };
  Cut cut() const;  // what was under way when it was stopped or its deadline came

  void add_counters_to(Counters& sum) const override;
  Gauges gauges() const override;
  void collect_refusals(const std::function<void(std::vector<TlsRefusals::Row>)>& done) override;
  void collect_sums(const std::function<void(FeedSums)>& done) override;
  Authenticator::Figures logins() const;
  // What is remembered of logins, for the next process (proxy/auth/login_memory.h); empty: there is no memory for it.
  UniqueFd share_logins() const;
  // How long ago the slowest loop last turned. Each loop turns at least once a second while it is healthy.
  std::chrono::milliseconds longest_silence() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bloomwall::proxy
