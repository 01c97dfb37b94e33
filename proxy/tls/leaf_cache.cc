// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/leaf_cache.h"

#include <algorithm>
#include <system_error>

namespace bloomwall::proxy {
namespace {

std::int64_t seconds_since_1970(LeafCache::Clock::time_point time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace

LeafCache::LeafCache(const Limits& limits) : limits_(limits), leaves_(limits.entries), budgets_(limits.clients) {}

LeafCache::~LeafCache() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  has_jobs_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<LeafCache::Answer> LeafCache::ask(const LeafMintPtr& mint, std::string_view host, std::string_view client,
                                                Clock::time_point now, Done done) {
  Job job{mint, {mint->generation(), std::string(host)}, seconds_since_1970(now)};
  std::unique_lock lock(mutex_);
  if (LeafPtr* const leaf = leaves_.find(job.key)) {
    if ((*leaf)->is_fresh(job.now)) return Answer(*leaf);
    leaves_.erase(job.key);
  }
  if (const auto at = waiting_.find(job.key); at != waiting_.end()) {
    at->second.push_back(std::move(done));
    return std::nullopt;
  }
  if (!LeafMint::is_mintable(host)) return refuse(Refusal::bad_host, "no certificate can hold this host");
  if (!spend(client, now)) return refuse(Refusal::client_rate, "the client asks for too many new hosts");
  if (mint->is_fast()) {
    waiting_.emplace(job.key, std::vector<Done>());
    lock.unlock();
    return finish(job);
  }
  if (jobs_.size() >= limits_.waiting || !start_thread()) {
    return refuse(Refusal::overload, "too many hosts wait for the CA's signer");
  }
  waiting_[job.key].push_back(std::move(done));
  jobs_.push_back(std::move(job));
  lock.unlock();
  has_jobs_.notify_one();
  return std::nullopt;
}

// With the mutex held.
std::optional<LeafCache::Answer> LeafCache::refuse(Refusal refusal, const char* why) {
  ++figures_.refused;
  return Answer(tl::unexpected(Failure{refusal, why}));
}

// With the mutex held. A clock that was put back gives nothing and takes nothing.
bool LeafCache::spend(std::string_view client, Clock::time_point now) {
  if (limits_.mints_a_second == 0) return true;
  const double most = limits_.mints_a_second;
  const std::string key(client);
  Budget* budget = budgets_.find(key);
  if (budget == nullptr) budget = &budgets_.put(key, {most, now});
  const std::chrono::duration<double> passed = std::max(now - budget->since, Clock::duration::zero());
  budget->mints = std::min(most, budget->mints + passed.count() * most);
  budget->since = now;
  if (budget->mints < 1) return false;
  budget->mints -= 1;
  return true;
}

LeafCache::Answer LeafCache::finish(const Job& job) {
  const auto begin = std::chrono::steady_clock::now();
  auto leaf = job.mint->mint(job.key.second, job.now);
  const auto took = std::chrono::steady_clock::now() - begin;
  Answer answer = leaf ? Answer(*leaf) : Answer(tl::unexpected(Failure{Refusal::mint, std::move(leaf.error())}));
  std::vector<Done> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (answer) {
      leaves_.put(job.key, *answer);
      ++figures_.minted;
      figures_.minting += took;
    } else {
      ++figures_.refused;
    }
    const auto at = waiting_.find(job.key);
    waiting = std::move(at->second);
    waiting_.erase(at);
  }
  for (const Done& done : waiting) {
    if (done) done(answer);
  }
  return answer;
}

// With the mutex held. False: the system gives no thread.
bool LeafCache::start_thread() {
  if (thread_.joinable()) return true;
  try {
    thread_ = std::thread([this] { run_jobs(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void LeafCache::run_jobs() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_jobs_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    finish(job);
    lock.lock();
  }
}

void LeafCache::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  leaves_.set_most(limits.entries);
  budgets_.set_most(limits.clients);
}

LeafCache::Figures LeafCache::figures() const {
  const std::lock_guard lock(mutex_);
  Figures figures = figures_;
  figures.entries = leaves_.size();
  figures.waiting = jobs_.size();
  return figures;
}

const char* to_string(LeafCache::Refusal refusal) {
  switch (refusal) {
    case LeafCache::Refusal::bad_host:
      return "bad_host";
    case LeafCache::Refusal::client_rate:
      return "client_rate";
    case LeafCache::Refusal::overload:
      return "overload";
    case LeafCache::Refusal::mint:
      return "mint";
  }
  return "unknown";
}

}  // namespace bloomwall::proxy
