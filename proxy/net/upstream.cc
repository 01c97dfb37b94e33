// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/upstream.h"

#include <algorithm>
#include <utility>

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
                                       const Endpoint& reached)
    : transport(std::move(over)),
      peer(reached),
      peer_text(reached.text()),
      pool_(pool),
      host_(host),
      entry_(fd < 0 ? nullptr : pool.own_, fd, reached),
      expiry_(
          pool.io_.loop.timers(),
          [](void* self) {
            auto& me = *static_cast<UpstreamConnection*>(self);
            me.pool_.drop(me);
          },
          this) {
  ++host_.members;
  ++pool_.members_;
  pool_.counters_.upstream_connections_total.add();
  pool_.counters_.upstream_connections_active.add();
}

UpstreamConnection::~UpstreamConnection() {
  Counters& counters = pool_.counters_;
  counters.upstream_connections_active.subtract();
  counters.upstream_bytes_received_total.add(transport->bytes_in());
  counters.upstream_bytes_sent_total.add(transport->bytes_out());
  pool_.forget(host_);
}

void UpstreamConnection::secure(std::unique_ptr<TlsSession> session, Transport::Handler& user) {
  transport = std::make_unique<TlsTransport>(pool_.io_, std::move(transport), std::move(session), user);
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
  }
  return std::make_unique<UpstreamConnection>(*this, found->second, std::move(over), fd, peer);
}

UpstreamPtr UpstreamPool::take(std::string_view key, Transport::Handler& user) {
  const auto found = hosts_.find(key);
  if (found == hosts_.end() || found->second.idle.empty()) return nullptr;
  UpstreamHost& host = found->second;
  const Milliseconds now = monotonic_now();
  UpstreamConnection* next = &host.idle.front();
  for (unsigned looks = 0; next != nullptr && looks < kMostLooks; ++looks) {
    UpstreamConnection& idle = *next;
    next = host.idle.after(idle);
    const bool has_rested = now - idle.idle_since_ >= rest_;
    if (idle.must_rest_ && !has_rested) return nullptr;  // nor has any behind it
    switch (idle.transport->arrived()) {
      case Transport::Arrived::nothing:
        break;
      case Transport::Arrived::end:
        drop(idle);
        continue;
      case Transport::Arrived::octets:
        on_surplus(idle);
        if (host.distrusted) return nullptr;  // and nothing of it is idle any more
        continue;
    }
    if (has_rested && host.proofs < kProofs) ++host.proofs;
    UpstreamPtr taken = remove(idle);
    taken->transport->set_handler(user);
    taken->reused = true;
    return taken;
  }
  return nullptr;
}

void UpstreamPool::put(UpstreamPtr connection, Standing standing, Milliseconds keep_for) {
  UpstreamHost& host = connection->host_;
  if (host.distrusted) host.distrusted = is_distrusted(host.key);  // or a busy host's would never end
  const bool must_rest = standing == Standing::suspect || host.proofs < kProofs;
  const Milliseconds now = monotonic_now();
  const std::size_t host_peak = host.peak.note(host.members - host.idle_count, now);
  const std::size_t peak = peak_.note(members_ - idle_, now);
  const bool full = host.idle_count >= most_idle_per_host_ && host.members > host_peak;
  // Where those that rest were driven out by those that come, none would ever have rested.
  if (most_idle_ == 0 || most_idle_per_host_ == 0 || host.distrusted || (full && must_rest)) {
    connection->transport->close();
    return io_.loop.deferred().delete_later(std::move(connection));
  }
  if (full) drop(host.idle.back());
  if (idle_ >= most_idle_ && members_ > peak) drop(by_age_.front());
  UpstreamConnection& kept = *connection.release();  // the list owns it; remove() gives it back
  kept.transport->set_handler(kept);
  kept.expiry_.set(keep_for);
  kept.idle_since_ = now;
  kept.must_rest_ = must_rest;
  must_rest ? host.idle.push_back(kept) : host.idle.push_front(kept);
  ++host.idle_count;
  by_age_.push_back(kept);
  ++idle_;
  counters_.upstream_connections_idle.add();
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
  while (!host.idle.empty()) drop(host.idle.front());
}

UpstreamPtr UpstreamPool::remove(UpstreamConnection& connection) {
  connection.ListLink<IdleOfHost>::leave();
  connection.ListLink<IdleByAge>::leave();
  connection.expiry_.clear();
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
  if (--host.members == 0) hosts_.erase(hosts_.find(host.key));
}

void UpstreamPool::set_limits(std::size_t most_idle, std::size_t most_idle_per_host) {
  // Hosts that hold more than a lower share now are rare, and simplest begun anew.
  if (most_idle_per_host < most_idle_per_host_) clear();
  while (most_idle < most_idle_ && idle_ > most_idle) drop(by_age_.front());
  most_idle_ = most_idle;
  most_idle_per_host_ = most_idle_per_host;
}

void UpstreamPool::clear() {
  while (idle_ > 0) drop(by_age_.front());
}

}  // namespace bloomwall::proxy
