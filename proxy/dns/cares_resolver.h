// The resolver of one worker: a cache in front of c-ares, equal questions joined into one.
// Never asked of a server: names that end in a number, .invalid (RFC 6761) and .onion (RFC 7686).
// Bounds: cache entries, and kMaxOpen queries on the wire, of which one client may have an eighth of those that are
// free and at most kMostOfClient; its other queries wait in order until one of its own ends. So a client that asks for
// thousands of names that no server answers leaves room for other clients. A query stays on the wire, and counts for
// its client, until c-ares gives up, even if its requester has gone. No room at all: `overloaded`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <unordered_map>

#include "conf/config.h"
#include "proxy/dns/address_cache.h"
#include "proxy/dns/cares_channel.h"
#include "proxy/dns/resolver.h"

namespace bloomwall::proxy {

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
