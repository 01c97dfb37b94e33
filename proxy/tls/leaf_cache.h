// Leaves by host: one of them per process, shared by the workers. Mints what is not there, once per host however many
// ask at the same time, and not more often for one client than it may.
//
//   auto answer = cache.ask(mint, host, client, now, done);
//   if (answer) use it now; else `done` is called with it later, on another thread: post it to the loop
//
// A leaf is minted on the calling thread where the CA's signer is fast, else on a thread of the cache. Nothing blocks:
// whoever asks for a host that is being minted is told when it is there.
// Bounds: entries, least recently used out first, dead after a day (2.4 KB each); clients whose rate is remembered;
// hosts that wait for a slow signer. Keyed by (LeafMint::generation(), host): a reload with another CA needs no call.
// Threads: any. The mutex is held for the tables alone, never while something is signed or `done` runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/recent_map.h"
#include "proxy/tls/leaf_mint.h"

namespace bloomwall::proxy {

class LeafCache {
 public:
  struct Limits {
    std::size_t entries = 10'000;       // tls_inspection.leaf.cache
    std::uint32_t mints_a_second = 20;  // of one client (limits.leaves_per_client), as many at once; 0: no limit
    std::size_t clients = 10'000;
    std::size_t waiting = 1'024;
  };
  enum class Refusal : std::uint8_t {
    bad_host,     // no certificate can hold it
    client_rate,  // the client asks for too many new hosts
    overload,     // too many hosts wait for a slow signer
    mint,         // the CA has expired, or its signer failed
  };
  struct Failure {
    Refusal refusal;
    std::string why;  // one line
  };
  using Answer = tl::expected<LeafPtr, Failure>;
  using Done = std::function<void(const Answer&)>;
  using Clock = std::chrono::system_clock;

  explicit LeafCache(const Limits& limits);
  // Hosts that still wait for a slow signer are not answered.
  ~LeafCache();
  LeafCache(const LeafCache&) = delete;
  LeafCache& operator=(const LeafCache&) = delete;

  // `client`: whatever stands for whose rate it is. `done` is not called where there is an answer.
  std::optional<Answer> ask(const LeafMintPtr& mint, std::string_view host, std::string_view client,
                            Clock::time_point now, Done done);
  void set_limits(const Limits& limits);  // at a reload

  struct Figures {
    std::size_t entries = 0, waiting = 0;
    std::uint64_t minted = 0, refused = 0;  // since the start
    std::chrono::nanoseconds minting{};     // the time that `minted` took
  };
  Figures figures() const;

 private:
  using Key = std::pair<std::uint64_t, std::string>;  // generation, host
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return std::hash<std::string>{}(key.second) + key.first; }
  };
  struct Job {
    LeafMintPtr mint;
    Key key;
    std::int64_t now;
  };
  struct Budget {
    double mints = 0;
    Clock::time_point since;
  };
  bool spend(std::string_view client, Clock::time_point now);
  bool start_thread();
  void run_jobs();
  Answer finish(const Job& job);
  std::optional<Answer> refuse(Refusal refusal, const char* why);

  mutable std::mutex mutex_;
  Limits limits_;
  RecentMap<Key, LeafPtr, KeyHash> leaves_;
  RecentMap<std::string, Budget> budgets_;
  std::map<Key, std::vector<Done>> waiting_;  // of each host that is being minted
  Figures figures_;

  std::deque<Job> jobs_;
  std::condition_variable has_jobs_;
  bool stopping_ = false;
  std::thread thread_;
};
const char* to_string(LeafCache::Refusal refusal);

}  // namespace bloomwall::proxy
