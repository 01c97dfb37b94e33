// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "proxy/io/random.h"
#include "proxy/net/addresses.h"
#include "proxy/net/recent_denials.h"
#include "proxy/net/worker.h"

namespace bloomwall::proxy {

namespace {

std::string random_instance() { return fmt::format("{:012x}", random_value<std::uint64_t>() >> 16U); }

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::size_t worker_count(const conf::Config& settings) {
  if (settings.workers > 0) return settings.workers;
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

struct Server::Impl {
  Impl(Edition first, const CurrentTokens* tokens, SelfService* service, QueryLog* log_of_requests)
      : edition(std::move(first)),
        self(service),
        query_log(log_of_requests),
        authenticator(random_value<CredentialHasher::Secret>(), {monotonic_now, seconds_now}, tokens) {}
  tl::expected<void, std::string> add_workers(AccessLog& log);
  tl::expected<void, std::string> bind_listeners(std::vector<ListeningSocket> passed);
  tl::expected<Endpoint, std::string> listen(Endpoint address, std::size_t index);
  tl::expected<Endpoint, std::string> serve_passed(const ListeningSocket& socket, std::size_t index);

  Edition edition;  // only until start(): keeping it would pin the first filters
  SelfService* const self;
  QueryLog* const query_log;
  OwnAddresses own;
  OwnConnections own_connections;
  ClientLimits limits;
  RequestRate rate;
  Authenticator authenticator;
  RecentDenials recent_denials;
  std::vector<Endpoint> addresses;
  std::vector<std::unique_ptr<Worker>> workers;
};

tl::expected<void, std::string> Server::Impl::add_workers(AccessLog& log) {
  const std::size_t count = worker_count(edition.snapshot->settings);
  const std::size_t cache_share = edition.snapshot->settings.dns.cache_entries / count;
  const auto& listeners = edition.snapshot->settings.listeners;
  const bool redirected = std::any_of(listeners.begin(), listeners.end(), [](const conf::Listener& listener) {
    return listener.mode == conf::Listener::Mode::transparent;
  });
  const Worker::Shared shared{.edition = edition,
                              .log = log,
                              .limits = limits,
                              .peers = workers,
                              .own = own,
                              .rate = rate,
                              .authenticator = authenticator,
                              .recent_denials = recent_denials,
                              .self = self,
                              .query_log = query_log,
                              .own_connections = redirected ? &own_connections : nullptr,
                              .instance = random_instance(),
                              .dns_cache_entries = cache_share,
                              .workers = count};
  for (std::size_t i = 0; i < count; ++i) {
    auto worker = Worker::create(shared);
    if (!worker) return tl::unexpected(worker.error());
    workers.push_back(*std::move(worker));
  }
  return {};
}

tl::expected<void, std::string> Server::Impl::bind_listeners(std::vector<ListeningSocket> passed) {
  const auto& listeners = edition.snapshot->settings.listeners;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    const auto failure = [&](std::string_view why) {
      return tl::unexpected(fmt::format("listeners[{}] {}: {}", i, listeners[i].address, why));
    };
    const auto wanted = Endpoint::parse(listeners[i].address);
    if (!wanted) return failure("expected ip:port, [ip6]:port or :port");
    const auto given = std::find_if(passed.begin(), passed.end(),
                                    [&](const ListeningSocket& socket) { return socket.address == *wanted; });
    const auto address = given == passed.end() ? listen(*wanted, i) : serve_passed(*given, i);
    if (!address) return failure(address.error());
    if (given != passed.end()) passed.erase(given);
    addresses.push_back(*address);
    own.add(*address);
  }
  if (passed.empty()) return {};
  return tl::unexpected(fmt::format("listeners: the service manager passed a socket for {}, which no listener has",
                                    passed.front().address.text()));
}

// A socket, and so a queue, for each worker.
tl::expected<Endpoint, std::string> Server::Impl::listen(Endpoint address, std::size_t index) {
  if (const auto free = check_free(address); !free) return tl::unexpected(free.error());
  for (auto& worker : workers) {
    auto socket = listen_on(address);
    if (!socket) return tl::unexpected(socket.error());
    address = socket->address;  // the others share the port that the kernel chose for the first
    worker->add_listener(*std::move(socket), index);
  }
  return address;
}

// One queue for all workers. Each client wakes those that wait; the first takes it, the others find nothing.
tl::expected<Endpoint, std::string> Server::Impl::serve_passed(const ListeningSocket& socket, std::size_t index) {
  for (auto& worker : workers) {
    auto own_descriptor = share(socket);
    if (!own_descriptor) return tl::unexpected(own_descriptor.error());
    worker->add_listener(*std::move(own_descriptor), index);
  }
  return socket.address;
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  stop();
  wait();
}

tl::expected<std::unique_ptr<Server>, std::string> Server::create(Edition edition, AccessLog& log,
                                                                  std::vector<ListeningSocket> passed,
                                                                  const std::vector<Endpoint>& own,
                                                                  const CurrentTokens* tokens, SelfService* self,
                                                                  QueryLog* query_log) {
  auto impl = std::make_unique<Impl>(std::move(edition), tokens, self, query_log);
  for (const Endpoint& address : own) impl->own.add(address);
  if (auto made = impl->add_workers(log); !made) return tl::unexpected(made.error());
  if (auto bound = impl->bind_listeners(std::move(passed)); !bound) return tl::unexpected(bound.error());
  impl->authenticator.use(impl->edition.snapshot->authentication.get());
  impl->edition = {};
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::start() {
  for (auto& worker : impl_->workers) worker->start();
}

const std::vector<Endpoint>& Server::addresses() const { return impl_->addresses; }

void Server::publish(const Edition& next, const std::function<void()>& adopted) {
  impl_->authenticator.use(next.snapshot->authentication.get());
  const auto left = std::make_shared<std::atomic<std::size_t>>(impl_->workers.size());
  const auto took_over = [left, adopted] {
    if (left->fetch_sub(1) == 1 && adopted) adopted();
  };
  for (auto& worker : impl_->workers) worker->publish(next, took_over);
}

void Server::announce() {
  for (auto& worker : impl_->workers) worker->announce();
}

void Server::drain(std::chrono::milliseconds deadline) {
  for (auto& worker : impl_->workers) worker->drain(deadline);
}

void Server::stop() {
  for (auto& worker : impl_->workers) worker->stop();
}

void Server::wait() {
  for (auto& worker : impl_->workers) worker->join();
}

Server::Cut Server::cut() const {
  Cut sum;
  for (const auto& worker : impl_->workers) {
    sum.tunnels += worker->cut_tunnels();
    sum.requests += worker->cut_requests();
  }
  return sum;
}

bool Server::ended() const {
  return std::all_of(impl_->workers.begin(), impl_->workers.end(), [](const auto& worker) { return worker->ended(); });
}

Authenticator::Figures Server::logins() const { return impl_->authenticator.figures(); }

void Server::add_counters_to(Counters& sum) const {
  for (const auto& worker : impl_->workers) worker->add_counters_to(sum);
}

Gauges Server::gauges() const {
  Gauges sum;
  for (const auto& worker : impl_->workers) worker->add_gauges_to(sum);
  return sum;
}

void Server::collect_refusals(const std::function<void(std::vector<TlsRefusals::Row>)>& done) {
  struct Collection {
    std::mutex mutex;
    std::vector<TlsRefusals::Row> rows;
    std::size_t left;
  };
  const auto all = std::make_shared<Collection>();
  all->left = impl_->workers.size();
  for (auto& worker : impl_->workers) {
    worker->collect_refusals([all, done](const std::vector<TlsRefusals::Row>& rows) {
      const std::scoped_lock lock(all->mutex);
      all->rows.insert(all->rows.end(), rows.begin(), rows.end());
      if (--all->left == 0) done(std::move(all->rows));
    });
  }
}

void Server::collect_tops(const std::function<void(BlockedTops)>& done) {
  struct Collection {
    std::mutex mutex;
    BlockedTops tops;
    std::size_t left;
  };
  const auto all = std::make_shared<Collection>();
  all->left = impl_->workers.size();
  for (auto& worker : impl_->workers) {
    worker->collect_tops([all, done](const BlockedTops& tops) {
      const std::scoped_lock lock(all->mutex);
      all->tops.add(tops);
      if (--all->left == 0) done(std::move(all->tops));
    });
  }
}

std::chrono::milliseconds Server::longest_silence() const {
  Milliseconds oldest = Milliseconds::max();
  for (const auto& worker : impl_->workers) oldest = std::min(oldest, worker->last_turn());
  return std::max(monotonic_now() - oldest, Milliseconds(0));
}

}  // namespace bloomwall::proxy
