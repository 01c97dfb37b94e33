// SPDX-License-Identifier: Apache-2.0

#include "proxy/upstream/upstream.h"

#include <algorithm>
#include <utility>

#include "proxy/io/event_loop.h"
#include "proxy/io/tcp_transport.h"
#include "proxy/io/tls_transport.h"

namespace bloomwall::proxy {

std::size_t RecentPeak::note(std::size_t count, Milliseconds now) {
  if (now - begin_ >= kWindow) {
    before_ = now - begin_ < 2 * kWindow ? now_ : 0;
    now_ = 0;
    begin_ = now;
  }
  now_ = std::max(now_, count);
  return std::max(now_, before_);
}

UpstreamConnection::UpstreamConnection(UpstreamPool& pool, UpstreamHost& host, TransportPtr over, int fd,
                                       const Endpoint& reached, bool is_stream)
    : transport(std::move(over)),
      peer(reached),
      pool_(pool),
      host_(host),
      entry_(fd < 0 ? nullptr : pool.own_, fd, reached),
      is_stream_(is_stream),
      expiry_(
          pool.io_.loop.timers(),
          [](void* self) {
            auto& me = *static_cast<UpstreamConnection*>(self);
            me.pool_.drop(me);
          },
          this) {
  ++host_.members;
  ++pool_.members_;
  if (is_stream_) return;
  pool_.counters_.upstream_connections_total.add();
  pool_.counters_.upstream_connections_active.add();
}

UpstreamConnection::~UpstreamConnection() {
  if (!is_stream_) {
    Counters& counters = pool_.counters_;
    counters.upstream_connections_active.subtract();
    counters.upstream_bytes_received_total.add(transport->bytes_in());
    counters.upstream_bytes_sent_total.add(transport->bytes_out());
  }
  pool_.forget(host_);
}

void UpstreamConnection::secure(std::unique_ptr<TlsSession> session, Transport::Handler& user) {
  transport = std::make_unique<TlsTransport>(pool_.io_, std::move(transport), std::move(session), user);
}

OwnUpstreams::~OwnUpstreams() {
  while (!idle_.empty()) UpstreamPool::leave_client(idle_.front());
}

// Idle: whatever comes while nothing was asked answers nothing of ours.
std::size_t UpstreamConnection::on_data(std::span<const char> bytes) {
  pool_.on_surplus(*this);
  return bytes.size();
}
void UpstreamConnection::on_end() { pool_.drop(*this); }
void UpstreamConnection::on_write_failed(int) { pool_.drop(*this); }
void UpstreamConnection::on_failed(int) { pool_.drop(*this); }

UpstreamPtr UpstreamPool::make(UniqueFd fd, const Endpoint& peer, std::string_view key, Transport::Handler& user) {
  const int socket = fd.get();
  return make(std::make_unique<TcpTransport>(io_, std::move(fd), user), socket, peer, key);
}

UpstreamPtr UpstreamPool::make(TransportPtr over, int fd, const Endpoint& peer, std::string_view key) {
  auto found = hosts_.find(key);
  if (found == hosts_.end()) {
    found = hosts_.try_emplace(std::string(key)).first;
    found->second.key = found->first;
    found->second.distrusted = is_distrusted(key);
    if (places_ != nullptr) places_->enter(key);
  }
  return std::make_unique<UpstreamConnection>(*this, found->second, std::move(over), fd, peer);
}

UpstreamHost* UpstreamPool::find_idle(std::string_view key) {
  const auto found = hosts_.find(key);
  return found == hosts_.end() || found->second.idle_count == 0 ? nullptr : &found->second;
}

UpstreamPtr UpstreamPool::take(std::string_view key, Transport::Handler& user, OwnUpstreams* own) {
  UpstreamHost* const host = find_idle(key);
  if (host == nullptr) return nullptr;
  const Milliseconds now = monotonic_now();
  if (UpstreamConnection* const mine = find_own(*host, own, Milliseconds(0))) return hand_out(*mine, user, now);
  count_rests(*host, now);
  for (unsigned looks = 0; looks < kMostLooks; ++looks) {
    if (host->ready.empty() && host->resting.empty()) return nullptr;
    UpstreamConnection& next = host->ready.empty() ? host->resting.front() : host->ready.front();
    if (next.must_rest_ && !has_rested(next, now)) return nullptr;  // nor has any behind it
    if (is_silent(next)) return hand_out(next, user, now);
  }
  return nullptr;
}

UpstreamPtr UpstreamPool::take_fresh(std::string_view key, Transport::Handler& user, OwnUpstreams* own) {
  UpstreamHost* const host = find_idle(key);
  if (host == nullptr) return nullptr;
  const Milliseconds now = monotonic_now();
  if (UpstreamConnection* const mine = find_own(*host, own, now - kFresh)) return hand_out(*mine, user, now);
  count_rests(*host, now);
  if (host->proofs < kProofs) return nullptr;
  for (unsigned looks = 0; !host->ready.empty() && looks < kMostLooks; ++looks) {
    UpstreamConnection& next = host->ready.front();
    if (now - next.idle_since_ >= kFresh) return nullptr;  // nor is any behind it
    if (is_silent(next)) return hand_out(next, user, now);
  }
  return nullptr;
}

// One that is silent, and was used last at `since` or later.
UpstreamConnection* UpstreamPool::find_own(UpstreamHost& host, OwnUpstreams* own, Milliseconds since) {
  if (own == nullptr || own->idle_.empty()) return nullptr;
  for (UpstreamConnection* mine = &own->idle_.front(); mine != nullptr;) {
    UpstreamConnection* const next = own->idle_.after(*mine);
    if (&mine->host_ == &host && mine->idle_since_ >= since) {
      const std::size_t before = own->count_;
      if (is_silent(*mine)) return mine;
      // Surplus closes all of its host's, of which others may be in this list.
      if (own->count_ + 1 != before) return nullptr;
    }
    mine = next;
  }
  return nullptr;
}

// Of one that is about to be used. False: it is idle no more, and perhaps none of its host is.
bool UpstreamPool::is_silent(UpstreamConnection& idle) {
  switch (idle.transport->arrived()) {
    case Transport::Arrived::nothing:
      return true;
    case Transport::Arrived::end:
      drop(idle);
      return false;
    case Transport::Arrived::octets:
      on_surplus(idle);
      return false;
  }
  return false;
}

// It has rested, and is silent.
void UpstreamPool::count_rest(UpstreamConnection& idle) {
  if (!std::exchange(idle.must_rest_, false)) return;
  if (UpstreamHost& host = idle.host_; host.proofs < kProofs) ++host.proofs;
}

// A host earns trust by those that are too old for a request that must not be sent twice, and by those of other
// clients, as well.
void UpstreamPool::count_rests(UpstreamHost& host, Milliseconds now) {
  for (unsigned looks = 0; host.proofs < kProofs && looks < kMostLooks; ++looks) {
    UpstreamConnection* oldest = nullptr;
    for (auto* const list : {&host.resting, &host.doubtful}) {
      if (oldest == nullptr && !list->empty() && list->front().must_rest_ && has_rested(list->front(), now)) {
        oldest = &list->front();
      }
    }
    if (oldest == nullptr) return;
    if (!is_silent(*oldest)) continue;
    count_rest(*oldest);
    // Behind those that rest still.
    oldest->standing_ == Standing::clear ? host.ready.push_back(*oldest) : host.doubtful.push_back(*oldest);
  }
}

UpstreamPtr UpstreamPool::hand_out(UpstreamConnection& idle, Transport::Handler& user, Milliseconds now) {
  if (has_rested(idle, now)) count_rest(idle);
  if (idle.must_rest_) idle.standing_ = Standing::doubtful;  // its own client's, from now on
  UpstreamPtr taken = remove(idle);
  taken->transport->set_handler(user);
  taken->reused = true;
  return taken;
}

// Which one gives way where there is room for no more; nullptr: the one that comes. Where those that rest were driven
// out by those that come, none would ever have rested; of a trusted host those give way that have, and were not needed
// since.
UpstreamConnection* UpstreamPool::find_spare(UpstreamHost& host, bool must_rest, Milliseconds now) {
  if (host.proofs == kProofs) {
    if (!host.resting.empty() && has_rested(host.resting.front(), now)) return &host.resting.front();
    if (!host.ready.empty() && has_rested(host.ready.back(), now)) return &host.ready.back();
  }
  if (!host.doubtful.empty()) return &host.doubtful.front();
  if (must_rest) return nullptr;
  return host.resting.empty() ? &host.ready.back() : &host.resting.back();
}

void UpstreamPool::put(UpstreamPtr connection, Standing standing, Milliseconds keep_for, OwnUpstreams* own) {
  UpstreamHost& host = connection->host_;
  if (connection->standing_ == Standing::doubtful) standing = Standing::doubtful;
  if (host.distrusted) host.distrusted = is_distrusted(host.key);  // or a busy host's would never end
  const bool must_rest = standing == Standing::doubtful || host.proofs < kProofs;
  const Milliseconds now = monotonic_now();
  const std::size_t host_peak = host.peak.note(host.members - host.idle_count, now);
  const std::size_t peak = peak_.note(members_ - idle_, now);
  const bool full = host.idle_count >= most_idle_per_host_ && host.members > host_peak;
  const bool is_wanted = places_ != nullptr && places_->is_wanted(host.key);
  const bool is_of_use = standing == Standing::clear || own != nullptr;
  const bool keeps_any = most_idle_ > 0 && most_idle_per_host_ > 0 && !host.distrusted && is_of_use && !is_wanted;
  UpstreamConnection* const spare = keeps_any && full ? find_spare(host, must_rest, now) : nullptr;
  if (!keeps_any || (full && spare == nullptr)) {
    connection->transport->close();
    return io_.loop.deferred().delete_later(std::move(connection));
  }
  if (spare != nullptr) drop(*spare);
  if (idle_ >= most_idle_ && members_ > peak) drop(by_age_.front());
  UpstreamConnection& kept = *connection.release();  // the list owns it; remove() gives it back
  kept.transport->set_handler(kept);
  kept.expiry_.set(keep_for);
  kept.idle_since_ = now;
  kept.standing_ = standing;
  kept.must_rest_ = must_rest;
  if (standing == Standing::doubtful) {
    host.doubtful.push_back(kept);
  } else {
    must_rest ? host.resting.push_back(kept) : host.ready.push_front(kept);
  }
  ++host.idle_count;
  by_age_.push_back(kept);
  ++idle_;
  counters_.upstream_connections_idle.add();
  if (own != nullptr) give_to(*own, kept);
}

void UpstreamPool::give_to(OwnUpstreams& own, UpstreamConnection& idle) {
  if (own.count_ == OwnUpstreams::kMost) leave_client(own.idle_.back());
  own.idle_.push_front(idle);
  ++own.count_;
  idle.owner_ = &own;
}

// Which has others, or goes.
void UpstreamPool::leave_client(UpstreamConnection& idle) {
  idle.ListLink<IdleOfClient>::leave();
  --std::exchange(idle.owner_, nullptr)->count_;
  if (idle.standing_ == Standing::doubtful) idle.pool_.drop(idle);
}

void UpstreamPool::on_surplus(UpstreamConnection& connection) {
  if (monotonic_now() - connection.idle_since_ < rest_) return distrust(connection);
  counters_.upstream_surplus_total.add();
  drop(connection);
}

void UpstreamPool::distrust(UpstreamConnection& connection) {
  counters_.upstream_surplus_total.add();
  UpstreamHost& host = connection.host_;
  host.distrusted = true;
  host.proofs = 0;
  if (distrusted_.size() >= kMostDistrusted) distrusted_.erase(distrusted_.begin());
  distrusted_.insert_or_assign(std::string(host.key), monotonic_now() + distrust_for_);
  drop_idle(host);
}

bool UpstreamPool::is_distrusted(std::string_view key) {
  if (distrusted_.empty()) return false;
  const auto found = distrusted_.find(key);
  if (found == distrusted_.end()) return false;
  if (monotonic_now() < found->second) return true;
  distrusted_.erase(found);
  return false;
}

void UpstreamPool::drop_idle(UpstreamHost& host) {
  while (!host.ready.empty()) drop(host.ready.front());
  while (!host.resting.empty()) drop(host.resting.front());
  while (!host.doubtful.empty()) drop(host.doubtful.front());
}

UpstreamPtr UpstreamPool::remove(UpstreamConnection& connection) {
  connection.ListLink<IdleOfHost>::leave();
  connection.ListLink<IdleByAge>::leave();
  connection.expiry_.clear();
  connection.ListLink<IdleOfClient>::leave();
  if (connection.owner_ != nullptr) --std::exchange(connection.owner_, nullptr)->count_;
  --connection.host_.idle_count;
  --idle_;
  counters_.upstream_connections_idle.subtract();
  return UpstreamPtr(&connection);
}

void UpstreamPool::drop(UpstreamConnection& connection) {
  connection.transport->close();
  io_.loop.deferred().delete_later(remove(connection));
}

void UpstreamPool::forget(UpstreamHost& host) {
  --members_;
  if (--host.members > 0) return;
  if (places_ != nullptr) places_->leave(host.key);
  hosts_.erase(hosts_.find(host.key));
}

bool UpstreamPool::has_others(std::string_view key, const UpstreamConnection* besides) const {
  const auto found = hosts_.find(key);
  const std::size_t here = found == hosts_.end() ? 0 : found->second.members;
  if (here > (besides == nullptr ? 0 : 1)) return true;
  return places_ != nullptr && places_->workers_at(key) > (here > 0 ? 1 : 0);
}

bool UpstreamPool::spare(std::string_view key) {
  UpstreamHost* const host = find_idle(key);
  if (host == nullptr) return false;
  drop(!host->doubtful.empty() ? host->doubtful.front()
       : !host->ready.empty()  ? host->ready.back()
                               : host->resting.front());
  return true;
}

void UpstreamPool::set_limits(std::size_t most_idle, std::size_t most_idle_per_host) {
  // Few hosts now hold more than a lower share; it is simplest to drop all.
  if (most_idle_per_host < most_idle_per_host_) clear();
  while (most_idle < most_idle_ && idle_ > most_idle) drop(by_age_.front());
  most_idle_ = most_idle;
  most_idle_per_host_ = most_idle_per_host;
}

void UpstreamPool::clear() {
  while (idle_ > 0) drop(by_age_.front());
}

void InnerOrigin::keep(UpstreamPtr upstream) {
  upstream->reused = std::exchange(was_used_, true);
  upstream->transport->set_handler(*this);
  upstream->transport->resume(PauseReason::peer_full);
  upstream_ = std::move(upstream);
}

UpstreamPtr InnerOrigin::take() { return std::move(upstream_); }

void InnerOrigin::drop(EventLoop& loop) {
  if (upstream_ == nullptr) return;
  upstream_->transport->close();
  loop.deferred().delete_later(std::move(upstream_));
}

// What an origin says without being asked is no answer to anybody.
std::size_t InnerOrigin::on_data(std::span<const char> bytes) {
  owner_.on_inner_end();
  return bytes.size();
}

}  // namespace bloomwall::proxy
