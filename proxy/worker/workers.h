// All workers as one, for whoever is above them: Server (server.h) is these, and tests have others.
// Threads: every member may be called from any one thread at a time; none of them waits for a loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "proxy/access/tls_refusals.h"
#include "proxy/io/chain.h"

namespace bloomwall::proxy {

struct Counters;  // proxy/telemetry/counters.h
struct Edition;   // proxy/decision/snapshot.h
struct FeedSums;  // proxy/query_log/request_feed.h

// What is held now and does not stand in Counters; summed over the workers without a lock, so a moment old.
struct Gauges {
  std::uint64_t requests_in_flight = 0;
  std::uint64_t dns_cache_entries = 0;
  std::uint64_t buffer_bytes = 0;  // held by connections, of limits.buffer_memory; pools' spare blocks excluded
  std::array<std::uint64_t, kBufferKinds> buffer_kinds{};  // the same, by BufferKind
};

class Workers {
 public:
  // Posts the next edition to every worker's loop. Running requests keep their snapshot; tunnels whose host or server
  // name it blocks are closed. `adopted` is called on the last worker's thread once every worker has adopted it.
  virtual void publish(const Edition& next, const std::function<void()>& adopted) = 0;

  virtual void add_counters_to(Counters& sum) const = 0;  // those of every worker, gauges included
  virtual Gauges gauges() const = 0;
  // What clients of all workers refuse now, in no order; a pair may come from several. `done` is called on the last
  // worker's thread; never once the workers have ended.
  virtual void collect_refusals(const std::function<void(std::vector<TlsRefusals::Row>)>& done) = 0;
  // Likewise, the clients of all workers and the names of what they have blocked, since the last call.
  virtual void collect_sums(const std::function<void(FeedSums)>& done) = 0;

 protected:
  ~Workers() = default;
};

}  // namespace bloomwall::proxy
