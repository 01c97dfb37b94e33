// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/upstream.h"

#include <utility>

namespace bloomwall::proxy {

UpstreamConnection::UpstreamConnection(IoContext& io, UpstreamPool& pool, UpstreamHost& host, UniqueFd fd,
                                       const Endpoint& reached, Stream::Handler& user)
    : stream(io),
      peer(reached),
      pool_(pool),
      host_(host),
      entry_(pool.own_, fd.get(), reached),
      expiry_(
          io.loop.timers(),
          [](void* self) {
            auto& me = *static_cast<UpstreamConnection*>(self);
            me.pool_.drop(me);
          },
          this) {
  peer_text = peer.text();
  ++host_.members;
  stream.open(std::move(fd), user);
  pool_.counters_.upstream_connections_total.add();
  pool_.counters_.upstream_connections_active.add();
}

UpstreamConnection::~UpstreamConnection() {
  Counters& counters = pool_.counters_;
  counters.upstream_connections_active.subtract();
  counters.upstream_bytes_received_total.add(stream.bytes_in());
  counters.upstream_bytes_sent_total.add(stream.bytes_out());
  pool_.forget(host_);
}

// Idle: whatever comes while nothing was asked answers nothing of ours.
std::size_t UpstreamConnection::on_data(std::span<const char> bytes) {
  pool_.drop(*this);
  return bytes.size();
}
void UpstreamConnection::on_end() { pool_.drop(*this); }
void UpstreamConnection::on_write_failed(int) { pool_.drop(*this); }
void UpstreamConnection::on_failed(int) { pool_.drop(*this); }

UpstreamPtr UpstreamPool::make(UniqueFd fd, const Endpoint& peer, std::string_view key, Stream::Handler& user) {
  auto found = hosts_.find(key);
  if (found == hosts_.end()) {
    found = hosts_.try_emplace(std::string(key)).first;
    found->second.key = found->first;
  }
  return std::make_unique<UpstreamConnection>(io_, *this, found->second, std::move(fd), peer, user);
}

UpstreamPtr UpstreamPool::take(std::string_view key, Stream::Handler& user) {
  const auto found = hosts_.find(key);
  if (found == hosts_.end()) return nullptr;
  UpstreamHost& host = found->second;
  // One that became readable in this very turn must not have that taken for the answer to what is sent now.
  while (!host.idle.empty() && host.idle.front().stream.has_news()) drop(host.idle.front());
  if (host.idle.empty()) return nullptr;
  UpstreamPtr taken = remove(host.idle.front());
  taken->stream.set_handler(user);
  taken->reused = true;
  return taken;
}

void UpstreamPool::put(UpstreamPtr connection, Milliseconds keep_for) {
  UpstreamHost& host = connection->host_;
  if (most_idle_ == 0 || most_idle_per_host_ == 0) {
    connection->stream.close();
    return io_.loop.graveyard().bury(std::move(connection));
  }
  if (host.idle_count >= most_idle_per_host_) drop(host.idle.back());
  if (idle_ >= most_idle_) drop(by_age_.front());
  UpstreamConnection& kept = *connection.release();  // the list owns it; remove() gives it back
  kept.stream.set_handler(kept);
  kept.expiry_.set(keep_for);
  host.idle.push_front(kept);
  ++host.idle_count;
  by_age_.push_back(kept);
  ++idle_;
  counters_.upstream_connections_idle.add();
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
  connection.stream.close();
  io_.loop.graveyard().bury(remove(connection));
}

void UpstreamPool::forget(UpstreamHost& host) {
  if (--host.members == 0) hosts_.erase(hosts_.find(host.key));
}

void UpstreamPool::set_limits(std::size_t most_idle, std::size_t most_idle_per_host) {
  // Hosts that hold more than a lower share now are rare, and simplest begun anew.
  if (most_idle_per_host < most_idle_per_host_) clear();
  most_idle_ = most_idle;
  most_idle_per_host_ = most_idle_per_host;
  while (idle_ > most_idle_) drop(by_age_.front());
}

void UpstreamPool::clear() {
  while (idle_ > 0) drop(by_age_.front());
}

}  // namespace bloomwall::proxy
