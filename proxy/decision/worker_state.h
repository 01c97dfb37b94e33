// What everything on one worker's loop shares. Owned by the Worker, which outlives every connection.
// Thread: the worker's, but for `counters`, which others may read.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "proxy/access/tls_refusals.h"
#include "proxy/auth/credential_key.h"
#include "proxy/decision/decision.h"
#include "proxy/decision/live_tunnels.h"
#include "proxy/decision/snapshot.h"
#include "proxy/http/body_reader.h"
#include "proxy/http/http1_reader.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/transport.h"
#include "proxy/query_log/client_mask.h"
#include "proxy/reply/decision_id.h"
#include "proxy/telemetry/counters.h"
#include "proxy/upstream/client_limits.h"
#include "proxy/upstream/connector.h"
#include "proxy/upstream/gathered_write.h"
#include "proxy/upstream/origin_facts.h"
#include "proxy/upstream/page_reader.h"
#include "proxy/upstream/upstream.h"
#include "proxy/upstream/warm_readers.h"

namespace bloomwall::proxy {

// Messages to an event loop from threads that may outlive it.
// Threads: any; close() belongs to the loop's owner, before the loop is destroyed.
class LoopMailbox {
 public:
  explicit LoopMailbox(EventLoop& loop) : loop_(&loop) {}
  void post(std::function<void()> message) {
    const std::lock_guard lock(mutex_);
    if (loop_ != nullptr) loop_->post(std::move(message));
  }
  void close() {  // later messages are dropped
    const std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }

 private:
  std::mutex mutex_;
  EventLoop* loop_;  // guarded by mutex_
};

class AccessLog;      // proxy/log/access_log.h
class Authenticator;  // proxy/auth/authenticator.h
class RecentDenials;  // proxy/decision/recent_denials.h
class RequestFeed;    // proxy/query_log/request_feed.h
class SelfService;    // proxy/decision/self_service.h

struct WorkerState {
  WorkerState(IoContext& io, DialContext dial, Counters& counters, AccessLog& log, std::string instance,
              RequestRate& rate, Authenticator& authenticator, std::size_t workers);
  ~WorkerState();
  WorkerState(const WorkerState&) = delete;
  WorkerState& operator=(const WorkerState&) = delete;

  IoContext& io;
  DialContext dial;
  Counters& counters;
  AccessLog& log;
  RequestRate& rate;
  Authenticator& authenticator;
  CredentialHasher credential_hasher;
  std::size_t workers;  // each gets this fraction of the limits of the process
  UpstreamPool upstreams;
  PageReader pages;
  TlsRefusals refusals{conf::AutoPass{}};
  FairPlaces handshakes;  // of intercepted connections, up to limits.handshakes
  // Tells the other workers what `refusals` has noted. Their memories are the same but for what is on its way, so that
  // one of them counts for all.
  std::function<void(TlsRefusals::Event event)> tell_refusals;
  bool counts_refusals = true;
  // Has every other worker close an idle connection of this key, where it has one (see OriginPlaces).
  std::function<void(std::string_view key)> spare_at_peers;
  SelfService* self_service = nullptr;      // of all workers; nullptr: nobody takes reports
  RecentDenials* recent_denials = nullptr;  // of all workers; nullptr: nobody is shown them
  RequestFeed* feed = nullptr;              // of this worker; nullptr: nobody keeps or watches requests
  // As who clients stand in reports and in the log: that of the query log, where there is one.
  ClientMask mask{ClientMask::random_secret()};
  OriginFacts origin_facts;
  LiveTunnels tunnels;
  std::shared_ptr<LoopMailbox> mailbox;  // of this loop
  DecisionIds ids;
  std::string instance;  // random; stands in Via, so that a request that comes back is known from one of a namesake

  // Follow the current snapshot: see adopt().
  SnapshotPtr snapshot;
  std::uint64_t editions = 0;  // that were adopted; what is judged now is judged by the last of them
  Decider decider;
  HeadLimits request_limits, response_limits;
  HeadLimits rewritten_limits;  // of heads that were within these, and have got a few fields of our own
  TlsContextPtr origin_tls;     // of intercepted connections; nullptr: off
  std::string via;              // "bloomwall (instance)"; empty: headers.via is off
  // Generation of the snapshot that last changed dns.hosts or upstream. Connections that were dialled before may lead
  // to other addresses, or to a parent with other settings, and carry no further request.
  std::uint64_t routes_since = 0;
  bool draining = false;
  // While draining: another process serves, nobody waits for the end of this one, and what is left then (monotonic) is
  // cut. 0: no other does.
  Milliseconds ends_behind_successor{0};
  bool has_successor() const { return ends_behind_successor != Milliseconds(0); }
  static constexpr Milliseconds kIdleDrain{5000};  // longer than a request takes to arrive
  // How long a connection that idles may go on, of `idle`. While draining it ends before what is left is cut, so that
  // whoever closes it can look whether a request has just arrived.
  Milliseconds idle_time(Milliseconds idle) const;
  Count requests_in_flight;                            // any thread
  Milliseconds challenge_told{0}, parent_tls_told{0};  // when a parent's 407, or failed TLS, was last logged; 0: never
  Milliseconds mismatch_told{0};  // likewise a ClientHello that names another host than CONNECT did
  std::uint64_t mismatches_untold = 0;
  Milliseconds mint_failure_told{-3'600'000};  // likewise a CA that could not sign

  WarmReaders<RequestReader> request_readers;
  WarmReaders<ResponseReader> response_readers;
  // Of what exchanges send to HTTP/2 streams.
  WarmReaders<RequestReader> sent_requests;
  WarmReaders<ResponseReader> sent_answers;
  GatherBuffers gather;
  std::string log_line;  // memory of write_record(), which alone uses it

  void adopt(SnapshotPtr next, PolicyPtr next_policy, GroupPoliciesPtr groups = {});
  // Sets the counter of pairs that auto_pass lets pass, now and while there are some; to be called after changes.
  void recount_auto_passes();

 private:
  void adopt_inspection(const Snapshot& next);
  Timer recount_;
};

}  // namespace bloomwall::proxy
