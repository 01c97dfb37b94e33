// SPDX-License-Identifier: Apache-2.0
#include "proxy/dns/cares_resolver.h"

#include <utility>

namespace bloomwall::proxy {
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
    : loop_(loop), cache_(cache_entries), channel_(std::move(channel)) {}

void CaresResolver::bump(std::atomic<std::uint64_t>& count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void CaresResolver::resolve(Query& query, std::string_view host) {
  query.cancel();
  const std::string name(host);
  resolve_family(query, name, Family::v6);  // first on the wire, as RFC 8305 section 3 advises
  resolve_family(query, name, Family::v4);
}

void CaresResolver::resolve_family(Query& query, const std::string& host, Family family) {
  if (!is_resolvable_name(host)) return query.settle(family, {.addresses = {}, .error = ResolveError::bad_name});
  if (is_never_asked(host)) return query.settle(family, {.addresses = {}, .error = ResolveError::no_such_name});
  if (const FamilyAnswer* known = cache_.find(host, family)) {
    bump(counts_.cache_hits);
    return query.settle(family, *known);
  }
  auto& open_here = open_[index(family)];
  if (const auto found = open_here.find(host); found != open_here.end()) {
    return found->second->waiting.push_back(query.waiting(family));
  }
  if (open_here.size() >= kMaxOpen) {
    return query.settle(family, {.addresses = {}, .error = ResolveError::overloaded});
  }
  bump(counts_.queries);
  Open& open = *open_here.emplace(host, std::make_unique<Open>()).first->second;
  open.resolver = this;
  open.host = host;
  open.family = family;
  channel_->ask(host, family, open);  // may answer at once; `open` is then buried but still alive
  if (open.answered) return query.settle(family, open.answer);
  open.waiting.push_back(query.waiting(family));
}

void CaresResolver::finish(Open& open, FamilyAnswer answer, std::chrono::seconds ttl) {
  if (answer.error != ResolveError::none && answer.error != ResolveError::no_address) bump(counts_.failures);
  open.answered = true;
  open.answer = std::move(answer);
  cache_.store(open.host, open.family, open.answer, ttl);
  // Out of the map before anybody is told: whoever asks again now starts anew.
  auto& open_here = open_[index(open.family)];
  const auto found = open_here.find(open.host);
  auto keep_alive = std::move(found->second);
  open_here.erase(found);
  while (!open.waiting.empty()) {
    Query& query = *open.waiting.front().query;
    query.settle(open.family, open.answer);
    query.tell();
  }
  loop_.graveyard().bury(std::move(keep_alive));
}

}  // namespace bloomwall::proxy
