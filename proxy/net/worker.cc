// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/worker.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "proxy/http/replies.h"
#include "proxy/io/random.h"
#include "proxy/log/log.h"
#include "proxy/net/addresses.h"
#include "proxy/net/redirection.h"

namespace bloomwall::proxy {
namespace {

// One read takes at most this much; larger ones cost less CPU a byte up to here, smaller ones a lot more.
constexpr std::size_t kScratchBytes = std::size_t{256} * 1024;

// Signals are main's business: none that is sent is ever delivered to a worker. Those of a fault in this very thread stay
// open: a filter that shrinks under its mapping raises SIGBUS, which filter/ turns into a lost filter.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

Worker::Worker(const Shared& shared)
    : pool_(shared.snapshot->settings.limits.buffer_memory / shared.workers),
      scratch_(kScratchBytes),
      io_{loop_, pool_, scratch_, &pipes_},
      limits_(shared.limits),
      drain_deadline_(loop_.timers(), [](void* self) { static_cast<Worker*>(self)->finish(); }, this) {}

tl::expected<std::unique_ptr<Worker>, std::string> Worker::create(const Shared& shared) {
  std::unique_ptr<Worker> worker(new Worker(shared));
  auto resolver = CaresResolver::create(worker->loop_, shared.snapshot->settings.dns, shared.dns_cache_entries);
  if (!resolver) return tl::unexpected(resolver.error());
  worker->resolver_ = *std::move(resolver);
  worker->state_ = std::make_unique<WorkerState>(
      worker->io_, DialContext{worker->loop_, *worker->resolver_, shared.own, shared.own_connections},
      worker->counters_, shared.log, random_value<DecisionIds::Key>(), shared.instance, shared.rate, shared.workers);
  worker->exchanges_ = std::make_unique<ExchangePool>(*worker->state_);
  worker->adopt(shared.snapshot);
  return worker;
}

Worker::~Worker() {
  stop();
  join();
  // Connections first, while everything they lean on still stands.
  while (!clients_.empty()) clients_.back()->close();
  state_->upstreams.clear();
  while (!loop_.graveyard().empty()) loop_.graveyard().sweep();
}

void Worker::add_listener(ListeningSocket socket, std::size_t index) {
  acceptors_.push_back(std::make_unique<Acceptor>(loop_, *this, std::move(socket), index));
}

void Worker::start() {
  for (auto& acceptor : acceptors_) acceptor->start();
  thread_ = std::thread([this] { run(); });
}

void Worker::run() {
  block_signals();
  pthread_setname_np(pthread_self(), "worker");
  loop_.run();
  ended_.store(true, std::memory_order_release);
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::publish(SnapshotPtr next) {
  loop_.post([this, next = std::move(next)]() mutable { adopt(std::move(next)); });
}

void Worker::adopt(SnapshotPtr next) {
  const std::uint64_t generation = next->generation;
  // A control block of this worker's own: what its requests count up and down is in no other worker's cache.
  auto own = std::make_shared<const SnapshotPtr>(std::move(next));
  const Snapshot* const snapshot = own->get();
  adopt_listeners(*snapshot);
  state_->adopt(SnapshotPtr(std::move(own), snapshot));
  generation_.store(generation, std::memory_order_release);
}

// Listeners are sealed, and those of the new settings may be others: each takes over what still stands under its address.
void Worker::adopt_listeners(const Snapshot& next) {
  if (listeners_.empty()) listeners_ = next.listeners;
  for (ListenerRules& running : listeners_) {
    const auto same = std::find_if(next.listeners.begin(), next.listeners.end(), [&](const ListenerRules& listener) {
      return listener.address == running.address && listener.mode == running.mode &&
             (listener.tls == nullptr) == (running.tls == nullptr) &&
             listener.balancers.empty() == running.balancers.empty();
    });
    if (same != next.listeners.end()) running = *same;
  }
}

void Worker::drain(Milliseconds deadline) {
  loop_.post([this, deadline] { begin_drain(deadline); });
}

void Worker::begin_drain(Milliseconds deadline) {
  for (auto& acceptor : acceptors_) acceptor->finish();
  state_->draining = true;
  drain_deadline_.set(deadline);
  // From the back: closing one moves the last into its place.
  for (std::size_t i = clients_.size(); i > 0; --i) clients_[i - 1]->drain();
  state_->upstreams.clear();
  maybe_drained();
}

void Worker::maybe_drained() {
  if (state_->draining && clients_.empty()) finish();
}

void Worker::finish() {
  while (!clients_.empty()) clients_.back()->close();
  loop_.stop();
}

void Worker::stop() {
  loop_.post([this] {
    state_->draining = true;
    for (auto& acceptor : acceptors_) acceptor->finish();
    finish();
  });
}

void Worker::on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) {
  const ListenerRules& rules = listeners_[from.index()];
  const bool named_later = !rules.balancers.empty();
  if (named_later && !rules.balancers.contains(rule_address(client.unmapped()))) {
    counters_.client_connections_refused_total.add();
    return;
  }
  std::optional<Endpoint> destination;
  if (rules.mode == conf::Listener::Mode::transparent) {
    destination = original_destination(fd.get());
    if (!destination) {
      return refuse(std::move(fd), {ErrorKind::misdirected, "this listener is for redirected connections"}, true);
    }
  }
  const conf::Limits& limits = state_->snapshot->settings.limits;
  bool counted = false;
  switch (named_later ? limits_.enter_unnamed(limits) : limits_.enter(client, limits, counted)) {
    case ClientLimits::Admission::admitted:
      break;
    case ClientLimits::Admission::full:
      return refuse(std::move(fd), {ErrorKind::connection_limit, "limits.client_connections"}, rules.tls == nullptr);
    case ClientLimits::Admission::client_full:
      return refuse(std::move(fd), {ErrorKind::connection_limit, "limits.connections_per_client"},
                    rules.tls == nullptr);
  }
  auto connection =
      std::make_unique<ClientConnection>(*state_, *exchanges_, *this, std::move(fd), client, from.name(), rules);
  if (destination) connection->expect_redirected(*destination);
  connection->table_index = clients_.size();
  connection->counted_by_address = counted;
  clients_.push_back(std::move(connection));
}

bool Worker::on_client_named(ClientConnection& client) {
  const auto admission =
      limits_.name(client.client_info().endpoint, state_->snapshot->settings.limits, client.counted_by_address);
  if (admission == ClientLimits::Admission::admitted) return true;
  write_refusal({ErrorKind::connection_limit, "limits.connections_per_client"});
  return false;
}

// Puts the answer into state_->text.
void Worker::write_refusal(const HttpError& why) {
  counters_.client_connections_refused_total.add();
  counters_.count_error(why.kind);
  ReplyContext context;
  context.proxy_name = state_->snapshot->settings.headers.via_name;
  context.now = std::chrono::system_clock::now();
  context.close = true;
  state_->text.clear();
  write_error(state_->text, why, context);
}

// Said and closed at once: whoever is refused for want of room must not take up any, such as that for a TLS handshake.
void Worker::refuse(UniqueFd fd, const HttpError& why, bool in_words) {
  write_refusal(why);
  if (!in_words) return;
  [[maybe_unused]] const auto sent = ::send(fd.get(), state_->text.data(), state_->text.size(), MSG_NOSIGNAL);
}

void Worker::on_client_closed(ClientConnection& client) {
  limits_.leave(client.client_info().endpoint, client.counted_by_address);
  const std::size_t index = client.table_index;
  loop_.graveyard().bury(std::move(clients_[index]));
  if (index + 1 != clients_.size()) {
    clients_[index] = std::move(clients_.back());
    clients_[index]->table_index = index;
  }
  clients_.pop_back();
  maybe_drained();
}

void Worker::add_counters_to(Counters& sum) const {
  add_counters(sum, counters_);
  sum.buffer_refusals_total.add(pool_.refusals());
  const ResolverCounts& names = resolver_->counts();
  sum.dns_queries_total.add(names.queries.load(std::memory_order_relaxed));
  sum.dns_cache_hits_total.add(names.cache_hits.load(std::memory_order_relaxed));
  sum.dns_failures_total.add(names.failures.load(std::memory_order_relaxed));
}

void Worker::add_gauges_to(Gauges& sum) const {
  sum.requests_in_flight += exchanges_->taken();
  sum.dns_cache_entries += resolver_->cache_size();
  sum.buffer_bytes += pool_.in_use();
}

}  // namespace bloomwall::proxy
