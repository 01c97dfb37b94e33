// SPDX-License-Identifier: Apache-2.0

#include "proxy/dns/cares_resolver.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace bloomwall::proxy {
namespace {

std::chrono::seconds lifetime(const FamilyAnswer& answer, std::chrono::seconds ttl) {
  switch (answer.error) {
    case ResolveError::none:
      return std::clamp(ttl, std::chrono::seconds(0), AddressCache::kLongest);
    case ResolveError::no_such_name:
    case ResolveError::no_address:
    case ResolveError::bad_name:
      return AddressCache::kNegative;
    case ResolveError::timed_out:
    case ResolveError::failed:
      return AddressCache::kFailure;
    case ResolveError::overloaded:
      return std::chrono::seconds(0);
  }
  return std::chrono::seconds(0);
}

}  // namespace

AddressCache::AddressCache(std::size_t max_entries, Clock clock) : max_entries_(max_entries), clock_(clock) {}

std::string AddressCache::make_key(std::string_view host, Family family) {
  std::string key(host);
  key.push_back(family == Family::v4 ? '4' : '6');
  return key;
}

const FamilyAnswer* AddressCache::find(std::string_view host, Family family) {
  const auto found = index_.find(make_key(host, family));
  if (found == index_.end()) return nullptr;
  const Order::iterator entry = found->second;
  if (entry->expires <= clock_()) {
    erase(entry);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, entry);
  return &entry->answer;
}

void AddressCache::store(std::string_view host, Family family, FamilyAnswer answer, std::chrono::seconds ttl) {
  std::string key = make_key(host, family);
  if (const auto found = index_.find(key); found != index_.end()) erase(found->second);
  const auto kept_for = lifetime(answer, ttl);
  if (kept_for.count() == 0 || max_entries_ == 0) return;
  if (order_.size() >= max_entries_) erase(std::prev(order_.end()));
  order_.push_front(Entry{std::move(key), std::move(answer), clock_() + kept_for});
  index_.emplace(order_.front().key, order_.begin());
  size_.store(order_.size(), std::memory_order_relaxed);
}

void AddressCache::erase(Order::iterator entry) {
  index_.erase(entry->key);
  order_.erase(entry);
  size_.store(order_.size(), std::memory_order_relaxed);
}

namespace {

bool is_never_asked(std::string_view host) {
  const auto is_or_under = [&](std::string_view top) {
    return host == top || (host.ends_with(top) && host[host.size() - top.size() - 1] == '.');
  };
  return is_or_under("invalid") || is_or_under("onion");
}

}  // namespace

tl::expected<std::unique_ptr<CaresResolver>, std::string> CaresResolver::create(EventLoop& loop,
                                                                                const conf::Dns& settings,
                                                                                std::size_t cache_entries) {
  auto channel = CaresChannel::create(loop, settings.servers);
  if (!channel) return tl::unexpected(channel.error());
  return std::unique_ptr<CaresResolver>(new CaresResolver(*std::move(channel), loop, cache_entries));
}

CaresResolver::CaresResolver(std::unique_ptr<CaresChannel> channel, EventLoop& loop, std::size_t cache_entries)
    : loop_(loop), cache_(cache_entries), channel_(std::move(channel)) {
  room_.assign(
      loop.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<CaresResolver*>(self)->on_room(); },
      this);
}

void CaresResolver::bump(std::atomic<std::uint64_t>& count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void CaresResolver::resolve(Query& query, std::string_view host) {
  query.cancel();
  const std::string name(host);
  resolve_family(query, name, Family::v6);  // first on the wire, as RFC 8305 section 3 advises
  resolve_family(query, name, Family::v4);
}

// What needs no server.
bool CaresResolver::complete_known(Query& query, const std::string& host, Family family) {
  if (!is_resolvable_name(host)) {
    query.complete(family, {.addresses = {}, .error = ResolveError::bad_name});
  } else if (is_never_asked(host)) {
    query.complete(family, {.addresses = {}, .error = ResolveError::no_such_name});
  } else if (const FamilyAnswer* known = cache_.find(host, family)) {
    bump(counts_.cache_hits);
    query.complete(family, *known);
  } else {
    return false;
  }
  return true;
}

void CaresResolver::resolve_family(Query& query, const std::string& host, Family family) {
  if (complete_known(query, host, family)) return;
  auto& open_here = open_[index(family)];
  if (const auto found = open_here.find(host); found != open_here.end()) {
    return found->second->waiting.push_back(query.waiting(family));
  }
  Client& client = client_of(query);
  if (has_room(client)) return ask(query, host, family, client);
  if (client.open == 0) {  // nothing of its own is there to wait for
    forget_unless_used(client);
    return query.complete(family, {.addresses = {}, .error = ResolveError::overloaded});
  }
  query.host = host;
  client.waiting.push_back(query.waiting(family));
}

CaresResolver::Client& CaresResolver::client_of(const Query& query) {
  Client& client = clients_[query.client()];
  client.key = query.client();
  return client;
}

bool CaresResolver::has_room(const Client& client) const {
  constexpr std::size_t kShareOfFree = 8;
  if (open_questions_ >= kMaxOpen) return false;
  const std::size_t share = (kMaxOpen - open_questions_) / kShareOfFree;
  return client.open < std::clamp<std::size_t>(share, 2, kMostOfClient);  // 2: both families of a name
}

void CaresResolver::ask(Query& query, const std::string& host, Family family, Client& client) {
  bump(counts_.queries);
  Open& open = *open_[index(family)].emplace(host, std::make_unique<Open>()).first->second;
  open.resolver = this;
  open.client = &client;
  open.host = host;
  open.family = family;
  ++open_questions_;
  ++client.open;
  channel_->ask(host, family, open);  // may answer at once; `open` is then to be deleted, but still alive
  if (open.answered) return query.complete(family, open.answer);
  open.waiting.push_back(query.waiting(family));
}

void CaresResolver::finish(Open& open, FamilyAnswer answer, std::chrono::seconds ttl) {
  if (answer.error == ResolveError::timed_out && !open.waiting.empty() && ++open.rounds < kMostRounds) {
    asked_again_.push_back(open);  // once c-ares has let go of its stalled connection
    return room_.trigger();
  }
  if (answer.error != ResolveError::none && answer.error != ResolveError::no_address) bump(counts_.failures);
  open.answered = true;
  open.answer = std::move(answer);
  cache_.store(open.host, open.family, open.answer, ttl);
  // Erased before the callbacks run: a callback that asks for the same name again starts a new query.
  auto& open_here = open_[index(open.family)];
  const auto found = open_here.find(open.host);
  auto keep_alive = std::move(found->second);
  open_here.erase(found);
  release(*open.client);
  while (!open.waiting.empty()) {
    Query& query = *open.waiting.front().query;
    query.complete(open.family, open.answer);
    query.notify();
  }
  loop_.deferred().delete_later(std::move(keep_alive));
}

void CaresResolver::release(Client& client) {
  --open_questions_;
  --client.open;
  forget_unless_used(client);
}

// The client's waiting queries are sent on the next turn of the loop: ask() may answer synchronously, so sending them
// here could recurse without bound.
void CaresResolver::forget_unless_used(Client& client) {
  served_.push_back(client);
  room_.trigger();
}

void CaresResolver::on_room() {
  while (!asked_again_.empty()) {
    Open& open = asked_again_.front();
    open.leave();
    if (open.waiting.empty()) {
      finish(open, {.addresses = {}, .error = ResolveError::timed_out}, std::chrono::seconds(0));
    } else {
      channel_->ask(open.host, open.family, open);
    }
  }
  while (!served_.empty()) {
    Client& client = served_.front();
    client.leave();
    serve(client);
    if (client.open == 0 && client.waiting.empty()) clients_.erase(client.key);
  }
}

void CaresResolver::serve(Client& client) {
  while (!client.waiting.empty() && (has_room(client) || client.open == 0)) {
    Query::Waiting& next = client.waiting.front();
    Query& query = *next.query;
    const Family family = next.family;
    const std::string host = query.host;
    next.leave();
    auto& open_here = open_[index(family)];
    if (const auto found = open_here.find(host); found != open_here.end()) {
      found->second->waiting.push_back(next);
      continue;
    }
    if (!complete_known(query, host, family)) {
      if (has_room(client)) {
        ask(query, host, family, client);
      } else {
        query.complete(family, {.addresses = {}, .error = ResolveError::overloaded});
      }
    }
    if (query.state(family) == Query::State::done) query.notify();
  }
}

}  // namespace bloomwall::proxy
