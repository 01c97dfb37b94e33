// SPDX-License-Identifier: Apache-2.0
#include "proxy/client/lingering_close.h"

#include <algorithm>
#include <utility>

namespace bloomwall::proxy {
namespace {

std::uint64_t octets_taken(const Transport& client) { return client.bytes_out() - client.backlog(); }

}  // namespace

bool LingeringClose::begin(Transport& client, bool is_last, bool untold) {
  close_when_drained_ = client.read_ended() || (is_last && !client.has_unseen());
  if (client.write_failed()) return false;
  // The close that follows says it as well, but not in TLS: there what ends without a word is cut.
  const bool is_over = close_when_drained_ && client.backlog() == 0;
  if (!is_over || client.tls() != nullptr) untold ? client.shut_write_untold() : client.shut_write();
  if (close_when_drained_ && client.backlog() == 0) return false;
  begun_at_ = monotonic_now();
  watch(client);
  client.resume(PauseReason::peer_full);
  return true;
}

bool LingeringClose::drop(std::size_t octets) {
  dropped_ += octets;
  has_dropped_ = true;
  return dropped_ <= kMostDropped;
}

bool LingeringClose::may_close(const Transport& drained) const {
  return drained.read_ended() || (close_when_drained_ && !drained.has_unseen());
}

void LingeringClose::watch(const Transport& client) { rate_.begin(octets_taken(client)); }

std::optional<Milliseconds> LingeringClose::wait_for(const Transport& client, bool is_lingering,
                                                     const conf::Config& settings) {
  const Milliseconds now = monotonic_now();
  // A client that does not take the answer owes that first.
  const bool has_all = client.backlog() == 0 && client.unconfirmed() == 0;
  const bool is_sending = std::exchange(has_dropped_, false);
  const Milliseconds drops_for = begun_at_ + std::min(settings.timeouts.body, kMostDropping) - now;
  if (is_lingering && has_all && is_sending && drops_for.count() > 0) return std::min(drops_for, kWait);
  const Milliseconds left = client.last_sent() + settings.timeouts.idle - now;
  // What the kernel still has to deliver would be lost if octets of the client's met a closed connection.
  const bool is_owed = client.backlog() > 0 || (is_lingering && client.unconfirmed() > 0);
  if (!is_owed || left.count() <= 0) return std::nullopt;
  if (client.backlog() == 0) return std::min(left, kWait);
  if (rate_.fell_short(octets_taken(client), settings.limits.least_rate, settings.timeouts.idle)) return std::nullopt;
  return left;
}

}  // namespace bloomwall::proxy
