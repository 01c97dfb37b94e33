// The resolver of one worker: a cache in front of c-ares, equal questions joined into one.
// Never asked of a server: names that end in a number, .invalid (RFC 6761) and .onion (RFC 7686).
// Bounds: cache entries, and kMaxOpen queries on the wire, of which one client may have an eighth of those that are
// free and at most kMostOfClient; its other queries wait in order until one of its own ends. So a client that asks for
// thousands of names that no server answers leaves room for other clients. A query stays on the wire, and counts for
// its client, until c-ares gives up, even if its requester has gone. No room at all: `overloaded`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "conf/config.h"
#include "proxy/dns/cares_channel.h"
#include "proxy/dns/resolver.h"
#include "proxy/io/event_loop.h"
#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

// What names resolved to, for as long as their records said: positive and negative answers, one a name and family.
// Bounded by a number of entries; the one not used for longest goes first. Cost: a hash look-up; allocates on store.
// Knows no network; the clock is a function so that tests can turn its hands. Thread: one, size() from any.
class AddressCache {
 public:
  static constexpr std::chrono::seconds kLongest{3600};  // even where a record claims more
  static constexpr std::chrono::seconds kNegative{10};   // no such name, no address
  static constexpr std::chrono::seconds kFailure{2};     // servers failed: ask again soon, but not a thousand times

  explicit AddressCache(std::size_t max_entries, Clock clock = monotonic_now);

  const FamilyAnswer* find(std::string_view host, Family family);  // valid until the next store()
  // ttl counts for answers with addresses; 0 is not kept. Others are kept as the constants say.
  void store(std::string_view host, Family family, FamilyAnswer answer, std::chrono::seconds ttl);
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::string key;
    FamilyAnswer answer;
    Milliseconds expires{0};
  };
  using Order = std::list<Entry>;  // most recently used first
  void erase(Order::iterator entry);
  static std::string make_key(std::string_view host, Family family);

  std::size_t max_entries_;
  Clock clock_;
  Order order_;
  std::unordered_map<std::string_view, Order::iterator> index_;  // views of Entry::key
  std::atomic<std::size_t> size_{0};
};

// Written by the loop, read by the threads that sum them.
struct ResolverCounts {
  std::atomic<std::uint64_t> queries{0}, cache_hits{0}, failures{0};
};

class CaresResolver final : public Resolver {
 public:
  // A question is one name and one family.
  static constexpr std::size_t kMaxOpen = 2048;
  static constexpr std::size_t kMostOfClient = 128;
  static constexpr unsigned kMostRounds = 4;  // c-ares gives up a stalled TCP connection after its first time-out

  // `cache_entries` is this worker's share of dns.cache_entries.
  static tl::expected<std::unique_ptr<CaresResolver>, std::string> create(EventLoop& loop, const conf::Dns& settings,
                                                                          std::size_t cache_entries);
  void resolve(Query& query, std::string_view host) override;
  std::size_t cache_size() const { return cache_.size(); }
  std::size_t open() const { return open_questions_; }
  const ResolverCounts& counts() const { return counts_; }

 private:
  // One client's questions: how many are on the wire, and which wait until they may be.
  struct Client : ListLink<Client> {  // in `served_` while some of its waiting ones may go
    ResolvingClient key{};
    std::size_t open = 0;
    IntrusiveList<Query::Waiting, Query::Waiting> waiting;
  };
  // One query on the wire and all requests that wait for it.
  struct Open final : CaresChannel::Asker, DeletedLater, ListLink<Open> {  // in `asked_again_` after a time-out
    CaresResolver* resolver = nullptr;
    Client* client = nullptr;
    unsigned rounds = 0;
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
  bool complete_known(Query& query, const std::string& host, Family family);
  void resolve_family(Query& query, const std::string& host, Family family);
  void ask(Query& query, const std::string& host, Family family, Client& client);
  Client& client_of(const Query& query);
  bool has_room(const Client& client) const;
  void release(Client& client);
  void forget_unless_used(Client& client);
  void on_room();
  void serve(Client& client);
  void finish(Open& open, FamilyAnswer answer, std::chrono::seconds ttl);
  static void bump(std::atomic<std::uint64_t>& count);

  EventLoop& loop_;
  AddressCache cache_;
  ResolverCounts counts_;
  std::size_t open_questions_ = 0;
  std::map<ResolvingClient, Client> clients_;  // clients with open or waiting queries
  IntrusiveList<Client, Client> served_;
  IntrusiveList<Open, Open> asked_again_;
  Event room_;  // set while one of these lists is not empty
  std::array<std::unordered_map<std::string, std::unique_ptr<Open>>, kFamilies> open_;
  std::unique_ptr<CaresChannel> channel_;  // last: its end answers what is open
};

}  // namespace bloomwall::proxy
