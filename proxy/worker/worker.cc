// SPDX-License-Identifier: Apache-2.0

#include "proxy/worker/worker.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>

#include "proxy/answers/answer_doors.h"
#include "proxy/log/log.h"
#include "proxy/query_log/query_log.h"

namespace bloomwall::proxy {
namespace {

// One read takes at most this much; larger ones cost less CPU a byte up to here, smaller ones a lot more.
constexpr std::size_t kScratchBytes = std::size_t{256} * 1024;

// The main thread handles signals: workers block all of them but those that an error of the thread itself raises. A
// filter file that is truncated under its mapping raises SIGBUS, which filter/ turns into a lost filter.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

Worker::Worker(const Shared& shared)
    : pool_(shared.edition.snapshot->settings.limits.buffer_memory / shared.workers),
      scratch_(kScratchBytes),
      io_{loop_, pool_, scratch_, &pipes_, &hangups_, &steps_},
      limits_(shared.limits),
      peers_(shared.peers),
      refused_(loop_),
      drain_deadline_(loop_.timers(), [](void* self) { static_cast<Worker*>(self)->finish(); }, this) {
  lacks_memory_.assign(
      loop_.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<Worker*>(self)->make_room(); }, this);
  pool_.on_overdraft([](void* self) { static_cast<Worker*>(self)->lacks_memory_.trigger(); }, this);
}

tl::expected<std::unique_ptr<Worker>, std::string> Worker::create(const Shared& shared) {
  std::unique_ptr<Worker> worker(new Worker(shared));
  auto resolver = CaresResolver::create(worker->loop_, shared.edition.snapshot->settings.dns, shared.dns_cache_entries);
  if (!resolver) return tl::unexpected(resolver.error());
  worker->resolver_ = *std::move(resolver);
  worker->state_ = std::make_unique<WorkerState>(
      worker->io_, DialContext{worker->loop_, *worker->resolver_, shared.own, shared.own_connections, &shared.places},
      worker->counters_, shared.log, shared.instance, shared.rate, shared.authenticator, shared.workers);
  worker->state_->self_service = shared.self;
  if (shared.query_log != nullptr) {
    worker->state_->feed = &shared.query_log->add_feed();
    worker->state_->mask = shared.query_log->mask();
  }
  worker->state_->recent_denials = &shared.recent_denials;
  worker->state_->counts_refusals = shared.peers.empty();  // the first
  worker->state_->tell_refusals = [self = worker.get()](TlsRefusals::Event event) {
    self->tell_refusals(std::move(event));
  };
  worker->state_->spare_at_peers = [self = worker.get()](std::string_view key) { self->spare_at_peers(key); };
  worker->answers_ =
      std::make_unique<AnswerDoors>(*worker->state_, worker->limits_, [self = worker.get()] { self->maybe_drained(); });
  worker->adopt(shared.edition);
  return worker;
}

Worker::~Worker() {
  stop();
  join();
  // Connections first, while everything they lean on still stands.
  while (!clients_.empty()) clients_.back()->close();
  answers_->close();
  state_->upstreams.clear();
  while (!loop_.deferred().empty()) loop_.deferred().sweep();
}

void Worker::add_listener(ListeningSocket socket, std::size_t index) {
  acceptors_.push_back(std::make_unique<Acceptor>(loop_, *this, std::move(socket), index));
}

tl::expected<void, std::string> Worker::share_listeners(std::vector<ListeningSocket>& out) const {
  for (const auto& acceptor : acceptors_) {
    auto shared = acceptor->share_socket();
    if (!shared) return tl::unexpected(shared.error());
    out.push_back(*std::move(shared));
  }
  return answers_->share(out);
}

void Worker::add_answers(ListeningSocket socket, std::size_t index) { answers_->add(std::move(socket), index); }

void Worker::start() {
  for (auto& acceptor : acceptors_) acceptor->start();
  answers_->start();
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

void Worker::publish(Edition next, std::function<void()> adopted) {
  loop_.post([this, next = std::move(next), adopted = std::move(adopted)]() mutable {
    adopt(std::move(next));
    adopted();
  });
}

void Worker::adopt(Edition next) {
  // A control block of this worker's own: what its requests count up and down is in no other worker's cache.
  auto own = std::make_shared<const SnapshotPtr>(std::move(next.snapshot));
  const Snapshot* const snapshot = own->get();
  adopt_listeners(*snapshot);
  answers_->adopt(*snapshot);
  state_->adopt(SnapshotPtr(std::move(own), snapshot), std::move(next.policy), std::move(next.groups));
}

// Listeners cannot change in a reload, but the new settings may list others: each listener takes the settings that have
// its address.
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

void Worker::announce() {
  loop_.post([this] { state_->draining = true; });
}

void Worker::drain(Milliseconds deadline, bool has_successor, std::function<void()> closed) {
  loop_.post(
      [this, deadline, has_successor, closed = std::move(closed)] { begin_drain(deadline, has_successor, closed); });
}

void Worker::begin_drain(Milliseconds deadline, bool has_successor, const std::function<void()>& closed) {
  for (auto& acceptor : acceptors_) acceptor->finish(has_successor);
  state_->draining = true;
  if (has_successor) state_->ends_behind_successor = monotonic_now() + deadline;
  listeners_closed_ = true;
  drain_deadline_.set(deadline);
  for (const auto& client : clients_) client->drain();
  answers_->drain(has_successor);
  closed();
  state_->upstreams.clear();
  maybe_drained();
}

void Worker::maybe_drained() {
  if (listeners_closed_ && clients_.empty() && answers_->empty()) finish();
}

void Worker::finish() {
  for (const auto& client : clients_) count_cut(*client);
  cut_.requests.fetch_add(answers_->questions(), std::memory_order_relaxed);
  while (!clients_.empty()) clients_.back()->close();
  answers_->close();
  loop_.stop();
}

void Worker::count_cut(const ClientSession& client) {
  cut_.requests.fetch_add(client.requests_running(), std::memory_order_relaxed);
  if (client.state() == ClientSession::State::tunnelling) cut_.tunnels.fetch_add(1, std::memory_order_relaxed);
}

void Worker::stop() {
  loop_.post([this] {
    state_->draining = true;
    listeners_closed_ = true;
    for (auto& acceptor : acceptors_) acceptor->finish();
    finish();
  });
}

void Worker::on_client_closed(ClientSession& client) {
  limits_.leave(client.client_info().endpoint, client.counted_by_address);
  const std::size_t index = client.table_index;
  loop_.deferred().delete_later(std::move(clients_[index]));
  if (index + 1 != clients_.size()) {
    clients_[index] = std::move(clients_.back());
    clients_[index]->table_index = index;
  }
  clients_.pop_back();
  maybe_drained();
}

void Worker::tell_refusals(TlsRefusals::Event event) {
  const auto shared = std::make_shared<const TlsRefusals::Event>(std::move(event));
  for (const auto& peer : peers_) {
    if (peer.get() == this) continue;
    peer->loop_.post([&state = *peer->state_, shared] {
      auto answer = state.refusals.learn(*shared);
      state.recount_auto_passes();
      if (answer) state.tell_refusals(*std::move(answer));
    });
  }
}

void Worker::spare_at_peers(std::string_view key) {
  const auto shared = std::make_shared<const std::string>(key);
  for (const auto& peer : peers_) {
    if (peer.get() != this) peer->loop_.post([&state = *peer->state_, shared] { state.upstreams.spare(*shared); });
  }
}

void Worker::collect_refusals(std::function<void(const std::vector<TlsRefusals::Row>&)> take) {
  loop_.post([this, take = std::move(take)] { take(state_->refusals.refused(TlsRefusals::Clock::now())); });
}

void Worker::collect_sums(std::function<void(FeedSums)> take) {
  loop_.post(
      [this, take = std::move(take)] { take(state_->feed == nullptr ? FeedSums() : state_->feed->take_sums()); });
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
  sum.requests_in_flight += state_->requests_in_flight.get();
  sum.dns_cache_entries += resolver_->cache_size();
  sum.buffer_bytes += pool_.in_use();
  for (std::size_t i = 0; i < kBufferKinds; ++i) sum.buffer_kinds[i] += pool_.in_use(static_cast<BufferKind>(i));
}

}  // namespace bloomwall::proxy
