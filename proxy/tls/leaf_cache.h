// Leaves by host: one of them per process, shared by the workers. Mints what is not there, once per host however many
// ask at the same time, and not more often for one client than it may.
//
//   auto answer = cache.ask(mint, host, client, now, done);
//   if (answer) use it now; else `done` is called with it later, on another thread: post it to the loop
//
// A leaf is minted on the calling thread where the CA's signer is fast, else on a thread of the cache. Nothing blocks:
// a client of a host that is being minted is told when it is there.
// Bounds: entries, least recently used out first, dead after a day (2.4 KB each); clients whose rate is remembered;
// hosts that wait for a slow signer. Keyed by (LeafMint::generation(), host): a reload with another CA needs no call.
// Threads: any. The mutex is held for the tables alone, never while something is signed or `done` runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/recent_map.h"
#include "proxy/tls/certificate_authority.h"

namespace bloomwall::proxy {

// Mints the certificates that clients of intercepted hosts see: one name each, nothing copied from the origin's. One
// with several names is for the program's own address (admin_certificate.h).
//   subject    CN = the name up to 64 octets; beyond that, and of addresses under a CA with name constraints, empty:
//              the SAN is critical then
//   SAN        exactly the names or addresses asked for
//   validity   whole days (UTC): from two days before today to `days` after it, within the CA's; new after a day
//   serial     127 random bits
//   others     CA:FALSE critical, keyUsage digitalSignature critical, serverAuth, AKI = the CA's SKI, SKI
//   key        P-256, of this process alone, for all leaves; new every 24 hours. For clients that take no ECDSA one of
//              RSA with 2,048 bits likewise
// Cost: a signature of the CA's key and 25 us (bench/leaf_mint_bench.cc). Errors: one line.
// Threads: any, several at a time. The clock is a parameter, in seconds since 1970.

enum class LeafKeyType : std::uint8_t { ecdsa, rsa };

// The key of leaves.
struct LeafKey {
  EvpKeyPtr key;
  EvpKeyPtr encoded;  // its public half, in the form that OpenSSL writes into certificates at once (leaf_cache.cc)
  X509ExtensionPtr identifier;
  std::int64_t made = 0;
};

// A certificate for one host, its key and its chain: what a TLS session presents. Owns all of it. Immutable.
class Leaf {
 public:
  X509* certificate() const { return certificate_.get(); }
  EVP_PKEY* key() const { return key_->key.get(); }
  STACK_OF(X509) * chain() const { return authority_->chain(); }  // behind the leaf; may be empty, never null
  std::int64_t minted() const { return minted_; }
  std::int64_t not_before() const { return not_before_; }
  std::int64_t not_after() const { return not_after_; }
  // Whether it may be given out at this time: less than a day old, by a clock that has not been put back either.
  bool is_fresh(std::int64_t now) const;

 private:
  friend class LeafMint;
  Leaf() = default;
  X509Ptr certificate_;
  std::shared_ptr<const LeafKey> key_;
  AuthorityPtr authority_;
  std::int64_t minted_ = 0, not_before_ = 0, not_after_ = 0;
};
using LeafPtr = std::shared_ptr<const Leaf>;

class LeafMint {
 public:
  static constexpr int kDays = 5;
  explicit LeafMint(AuthorityPtr authority, int days = kDays);
  LeafMint(const LeafMint&) = delete;
  LeafMint& operator=(const LeafMint&) = delete;

  // `host`: canonical, as the filters know it but for the brackets of IPv6: a name with xn-- labels, or an address.
  // Errors: what is neither; the CA has expired; its signer failed.
  tl::expected<LeafPtr, std::string> mint(std::string_view host, std::int64_t now,
                                          LeafKeyType type = LeafKeyType::ecdsa) const;
  // One certificate for all of them, at least one; the first is its CN. `hosts` as above.
  tl::expected<LeafPtr, std::string> mint_for(std::span<const std::string_view> hosts, std::int64_t now,
                                              LeafKeyType type = LeafKeyType::ecdsa) const;
  static bool is_mintable(std::string_view host);

  // Else mint() may wait, and must not run on an event loop: an RSA key takes a tenth of a second to make.
  bool is_fast(LeafKeyType type) const { return type == LeafKeyType::ecdsa && authority_->signer().is_fast(); }
  const AuthorityPtr& authority() const { return authority_; }
  // Different for every LeafMint of the process: keep one over a reload that leaves the CA and the days as they are.
  std::uint64_t generation() const { return generation_; }

 private:
  std::shared_ptr<const LeafKey> key_at(std::int64_t now, LeafKeyType type) const;
  tl::expected<void, std::string> sign(X509* certificate) const;

  const AuthorityPtr authority_;
  const int days_;
  const std::uint64_t generation_;
  const X509ExtensionPtr constraints_, usage_, purpose_, authority_key_;
  mutable std::atomic<std::shared_ptr<const LeafKey>> key_, rsa_key_;
};
using LeafMintPtr = std::shared_ptr<const LeafMint>;

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
                            Clock::time_point now, Done done, LeafKeyType type = LeafKeyType::ecdsa);
  void set_limits(const Limits& limits);  // at a reload

  struct Figures {
    std::size_t entries = 0, waiting = 0;
    std::uint64_t minted = 0, refused = 0;  // since the start
    std::chrono::nanoseconds minting{};     // the time that `minted` took
  };
  Figures figures() const;

 private:
  using Key = std::pair<std::uint64_t, std::string>;  // generation; host, with a blank in front of it for RSA
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return std::hash<std::string>{}(key.second) + key.first; }
  };
  struct Job {
    LeafMintPtr mint;
    Key key;
    std::int64_t now;
    LeafKeyType type;
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
