// SPDX-License-Identifier: Apache-2.0
#include "proxy/worker/server.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/random.h"
#include "proxy/answers/answer_doors.h"
#include "proxy/decision/recent_denials.h"
#include "proxy/io/unix_socket.h"
#include "proxy/log/log.h"
#include "proxy/upstream/addresses.h"
#include "proxy/upstream/origin_places.h"
#include "proxy/worker/worker.h"

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

// Where a machine has no IPv6, the wildcard is IPv4's; of a process before, port 0 is the one that the kernel chose.
bool is_meant(const Endpoint& wanted, const ListeningSocket& given) {
  if (!given.path.empty()) return false;
  const bool is_any_port = wanted.port() == 0 && !given.is_passed;
  if (!is_any_port && wanted.port() != given.address.port()) return false;
  return wanted.same_ip(given.address) || (wanted.is_v6() && wanted.is_wildcard() && given.address.is_wildcard());
}

// All of one address.
std::vector<ListeningSocket> take_those_of(const Endpoint& wanted, std::vector<ListeningSocket>& passed) {
  std::vector<ListeningSocket> out;
  const auto first =
      std::ranges::find_if(passed, [&](const ListeningSocket& socket) { return is_meant(wanted, socket); });
  if (first == passed.end()) return out;
  const Endpoint address = first->address;
  for (ListeningSocket& socket : passed) {
    if (socket.path.empty() && socket.address == address) out.push_back(std::move(socket));
  }
  std::erase_if(passed, [](const ListeningSocket& socket) { return !socket.fd; });
  return out;
}

// A previous process keeps the sockets that were not taken over until its connections have ended.
bool is_in_the_way(const Endpoint& wanted, const std::vector<ListeningSocket>& passed) {
  return std::ranges::any_of(passed, [&](const ListeningSocket& socket) {
    return !socket.is_passed && socket.path.empty() && socket.address.port() == wanted.port() &&
           (wanted.is_wildcard() || socket.address.is_wildcard());
  });
}

// So that a queue which several workers serve is there once.
std::uint64_t inode_of(const ListeningSocket& socket) {
  struct stat status{};
  return ::fstat(socket.fd.get(), &status) == 0 ? status.st_ino : 0;
}

struct SocketPlace {
  std::string path;
  std::optional<std::string> group;
};

}  // namespace

struct Server::Impl {
  Impl(Edition first, LoginMemory logins, const CurrentTokens* tokens, SelfService* service, QueryLog* log_of_requests)
      : edition(std::move(first)),
        self(service),
        query_log(log_of_requests),
        authenticator({monotonic_now, seconds_now}, std::move(logins), tokens) {}
  tl::expected<void, std::string> add_workers(AccessLog& log);
  // What adds a socket to a worker, under its place in the configuration.
  using Add = void (Worker::*)(ListeningSocket socket, std::size_t index);
  tl::expected<void, std::string> bind_listeners(std::vector<ListeningSocket> passed);
  tl::expected<void, std::string> bind_answers(std::vector<ListeningSocket>& passed);
  tl::expected<Endpoint, std::string> bind(const std::string& address, std::vector<ListeningSocket>& passed,
                                           std::size_t index, Add add);
  tl::expected<Endpoint, std::string> bind_path(const SocketPlace& place, std::vector<ListeningSocket>& passed,
                                                std::size_t index);
  tl::expected<Endpoint, std::string> listen(Endpoint address, std::size_t index, Add add);
  tl::expected<Endpoint, std::string> serve_passed(std::vector<ListeningSocket> sockets, std::size_t index, Add add);

  Edition edition;  // only until start(): keeping it would pin the first filters
  SelfService* const self;
  QueryLog* const query_log;
  OwnAddresses own;
  OwnConnections own_connections;
  OriginPlaces places;
  ClientLimits limits;
  RequestRate rate;
  Authenticator authenticator;
  RecentDenials recent_denials;
  std::vector<Endpoint> addresses, answer_addresses;
  std::vector<std::unique_ptr<SocketName>> names;  // of unix sockets
  std::vector<SocketPlace> taken;                  // of those that the process before has made: names from start() on
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
                              .places = places,
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
    const auto address = bind(listeners[i].address, passed, i, &Worker::add_listener);
    if (!address) {
      return tl::unexpected(fmt::format("listeners[{}] {}: {}", i, listeners[i].address, address.error()));
    }
    addresses.push_back(*address);
  }
  if (const auto bound = bind_answers(passed); !bound) return bound;
  const auto foreign = std::ranges::find_if(passed, &ListeningSocket::is_passed);
  if (foreign != passed.end()) {
    return tl::unexpected(fmt::format("listeners: the service manager passed a socket for {}, which no listener has",
                                      foreign->address.text()));
  }
  for (const ListeningSocket& left : passed) {  // of the process before
    if (!left.path.empty()) const SocketName removed(left.path);
  }
  return {};
}

tl::expected<void, std::string> Server::Impl::bind_answers(std::vector<ListeningSocket>& passed) {
  const auto& answers = edition.snapshot->settings.answers;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::string path = unix_path_of(answers[i].address);
    const auto address = path.empty() ? bind(answers[i].address, passed, i, &Worker::add_answers)
                                      : bind_path({path, answers[i].group}, passed, i);
    if (!address) return tl::unexpected(fmt::format("answers[{}] {}: {}", i, answers[i].address, address.error()));
    answer_addresses.push_back(*address);
  }
  return {};
}

tl::expected<Endpoint, std::string> Server::Impl::bind(const std::string& address, std::vector<ListeningSocket>& passed,
                                                       std::size_t index, Add add) {
  const auto wanted = Endpoint::parse(address);
  if (!wanted) return tl::unexpected(std::string("expected ip:port, [ip6]:port or :port"));
  auto given = take_those_of(*wanted, passed);
  auto bound = given.empty() ? listen(*wanted, index, add) : serve_passed(std::move(given), index, add);
  if (!bound && is_in_the_way(*wanted, passed)) {
    return tl::unexpected(bound.error() + ", by the process before: another address with its port needs a restart");
  }
  if (bound) own.add(*bound);
  return bound;
}

// One queue for all workers. Its name is this process's from start() on: until then the process before may go on.
tl::expected<Endpoint, std::string> Server::Impl::bind_path(const SocketPlace& place,
                                                            std::vector<ListeningSocket>& passed, std::size_t index) {
  const std::string& path = place.path;
  std::vector<ListeningSocket> sockets;
  const auto given = std::ranges::find(passed, path, &ListeningSocket::path);
  if (given != passed.end()) {
    sockets.push_back(std::move(*given));
    passed.erase(given);
    if (const auto may = may_be_given(path, place.group); !may) return tl::unexpected(may.error());
    taken.push_back(place);
  } else {
    auto made = listen_at(path, kListenBacklog, place.group);
    if (!made) return tl::unexpected(made.error());
    sockets.push_back({.fd = *std::move(made), .address = {}, .path = path});
    names.push_back(std::make_unique<SocketName>(path));
  }
  return serve_passed(std::move(sockets), index, &Worker::add_answers);
}

// A socket, and so a queue, for each worker.
tl::expected<Endpoint, std::string> Server::Impl::listen(Endpoint address, std::size_t index, Add add) {
  if (const auto free = check_free(address); !free) return tl::unexpected(free.error());
  for (auto& worker : workers) {
    auto socket = listen_on(address);
    if (!socket) return tl::unexpected(socket.error());
    address = socket->address;  // the others share the port that the kernel chose for the first
    ((*worker).*add)(*std::move(socket), index);
  }
  return address;
}

// Each queue has a worker at least, and each worker a queue. Of several workers on one queue each client wakes those
// that wait; the first takes it, the others find nothing.
tl::expected<Endpoint, std::string> Server::Impl::serve_passed(std::vector<ListeningSocket> sockets, std::size_t index,
                                                               Add add) {
  for (std::size_t i = 0; i < std::max(sockets.size(), workers.size()); ++i) {
    auto own_descriptor = share(sockets[i % sockets.size()]);
    if (!own_descriptor) return tl::unexpected(own_descriptor.error());
    ((*workers[i % workers.size()]).*add)(*std::move(own_descriptor), index);
  }
  return sockets.front().address;
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
                                                                  QueryLog* query_log, const UniqueFd& logins) {
  auto memory = logins ? read_memory(logins.get()) : std::nullopt;
  if (!memory) memory.emplace().secret = random_value<CredentialHasher::Secret>();
  auto impl = std::make_unique<Impl>(std::move(edition), *std::move(memory), tokens, self, query_log);
  for (const Endpoint& address : own) impl->own.add(address);
  if (auto made = impl->add_workers(log); !made) return tl::unexpected(made.error());
  if (auto bound = impl->bind_listeners(std::move(passed)); !bound) return tl::unexpected(bound.error());
  impl->authenticator.use(impl->edition.snapshot->authentication.get());
  impl->edition = {};
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::start() {
  for (const SocketPlace& place : impl_->taken) {
    impl_->names.push_back(std::make_unique<SocketName>(place.path));
    if (const auto given = give_to_group(place.path, place.group); !given) log::error("answers: {}", given.error());
  }
  impl_->taken.clear();
  for (auto& worker : impl_->workers) worker->start();
}

const std::vector<Endpoint>& Server::addresses() const { return impl_->addresses; }
const std::vector<Endpoint>& Server::answer_addresses() const { return impl_->answer_addresses; }

namespace {

// Called by each of so many workers: `done` is called by the last.
std::function<void()> once_all(std::size_t workers, const std::function<void()>& done) {
  return [left = std::make_shared<std::atomic<std::size_t>>(workers), done] {
    if (left->fetch_sub(1) == 1 && done) done();
  };
}

}  // namespace

void Server::publish(const Edition& next, const std::function<void()>& adopted) {
  impl_->authenticator.use(next.snapshot->authentication.get());
  const auto took_over = once_all(impl_->workers.size(), adopted);
  for (auto& worker : impl_->workers) worker->publish(next, took_over);
}

void Server::announce() {
  for (auto& worker : impl_->workers) worker->announce();
}

void Server::drain(std::chrono::milliseconds deadline, bool has_successor, const std::function<void()>& closed) {
  for (const auto& name : impl_->names) {
    if (has_successor) name->forget();
  }
  impl_->names.clear();
  const auto has_closed = once_all(impl_->workers.size(), closed);
  for (auto& worker : impl_->workers) worker->drain(deadline, has_successor, has_closed);
}

tl::expected<std::vector<ListeningSocket>, std::string> Server::share_listeners() const {
  std::vector<ListeningSocket> all;
  for (const auto& worker : impl_->workers) {
    if (auto shared = worker->share_listeners(all); !shared) return tl::unexpected(shared.error());
  }
  // The names of unix sockets are the other process's from here on. Where it does not serve after all, this one leaves
  // a socket behind that nobody listens at, which the next one replaces.
  for (const auto& name : impl_->names) name->forget();
  std::set<std::uint64_t> seen;
  std::erase_if(all, [&](const ListeningSocket& socket) { return !seen.insert(inode_of(socket)).second; });
  return all;
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

UniqueFd Server::share_logins() const { return write_memory(impl_->authenticator.memory()); }

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

void Server::collect_sums(const std::function<void(FeedSums)>& done) {
  struct Collection {
    std::mutex mutex;
    FeedSums sums;
    std::size_t left;
  };
  const auto all = std::make_shared<Collection>();
  all->left = impl_->workers.size();
  for (auto& worker : impl_->workers) {
    worker->collect_sums([all, done](const FeedSums& sums) {
      const std::scoped_lock lock(all->mutex);
      all->sums.add(sums);
      if (--all->left == 0) done(std::move(all->sums));
    });
  }
}

std::chrono::milliseconds Server::longest_silence() const {
  Milliseconds oldest = Milliseconds::max();
  for (const auto& worker : impl_->workers) oldest = std::min(oldest, worker->last_turn());
  return std::max(monotonic_now() - oldest, Milliseconds(0));
}

}  // namespace bloomwall::proxy
