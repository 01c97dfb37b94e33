// The resolver of one worker: a cache in front of c-ares, equal questions joined into one.
// Never asked of a server: names that end in a number, .invalid (RFC 6761) and .onion (RFC 7686).
// Bounds: cache entries, and kMaxOpen questions on the wire; beyond, `overloaded`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <unordered_map>

#include "conf/config.h"
#include "proxy/dns/address_cache.h"
#include "proxy/dns/cares_channel.h"
#include "proxy/dns/resolver.h"

namespace bloomwall::proxy {

// Written by the loop, read by whoever sums them.
struct ResolverCounts {
  std::atomic<std::uint64_t> queries{0}, cache_hits{0}, failures{0};
};

class CaresResolver final : public Resolver {
 public:
  static constexpr std::size_t kMaxOpen = 10'000;

  // `cache_entries` is this worker's share of dns.cache_entries.
  static tl::expected<std::unique_ptr<CaresResolver>, std::string> create(EventLoop& loop, const conf::Dns& settings,
                                                                          std::size_t cache_entries);
  void resolve(Query& query, std::string_view host) override;
  std::size_t cache_size() const { return cache_.size(); }
  const ResolverCounts& counts() const { return counts_; }

 private:
  // One question on the wire and everybody who waits for it.
  struct Open final : CaresChannel::Asker, Buried {
    CaresResolver* resolver = nullptr;
    std::string host;
    Family family = Family::v4;
    bool answered = false;
    FamilyAnswer answer;
    IntrusiveList<Query::Waiting, Query::Waiting> waiting;
    void on_answer(FamilyAnswer got, std::chrono::seconds ttl) override {
      resolver->finish(*this, std::move(got), ttl);
    }
  };
  CaresResolver(std::unique_ptr<CaresChannel> channel, EventLoop& loop, std::size_t cache_entries);
  void resolve_family(Query& query, const std::string& host, Family family);
  void finish(Open& open, FamilyAnswer answer, std::chrono::seconds ttl);
  static void bump(std::atomic<std::uint64_t>& count);

  EventLoop& loop_;
  AddressCache cache_;
  ResolverCounts counts_;
  std::array<std::unordered_map<std::string, std::unique_ptr<Open>>, kFamilies> open_;
  std::unique_ptr<CaresChannel> channel_;  // last: its end answers what is open
};

}  // namespace bloomwall::proxy
