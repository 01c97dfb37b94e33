// Admission control: clients that access.clients does not name, and those beyond the limits, are refused before they
// cost anything. At the limit of connections the client that has been idle longest is closed, and so is the one of
// those that hold TLS, when memory that lasts reaches into the reserve (BufferPool).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "proxy/decision/request_log.h"
#include "proxy/log/log.h"
#include "proxy/query_log/written_form.h"
#include "proxy/reply/replies.h"
#include "proxy/telemetry/access_record.h"
#include "proxy/upstream/addresses.h"
#include "proxy/worker/worker.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostLookedAt = 256;  // idle connections, in search of one of a certain client's
constexpr std::size_t kMostLookedAtForMemory = 4096;
constexpr std::size_t kMostShedForMemory = 16;  // a turn
constexpr Milliseconds kArrival{1000};
constexpr std::uint64_t kHeldByIdle = std::uint64_t{16} * 1024;  // bytes at least: a session of TLS
constexpr Milliseconds kTellAgain{60'000};
constexpr Milliseconds kRefusalsWindow{1000};
constexpr unsigned kMostRefusalsLogged = 100;  // a worker, in that time; counted are all

using Admission = ClientLimits::Admission;

}  // namespace

void Worker::on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) {
  const ListenerRules& rules = listeners_[from.index()];
  const bool named_later = !rules.balancers.empty();
  if (named_later && !rules.balancers.contains(client.address())) {
    return refuse(std::move(fd), client, from, {ErrorKind::client_denied, "listeners.proxy_protocol"}, false);
  }
  const bool in_words = rules.tls == nullptr;
  if (!named_later && is_stranger(client)) {
    note_stranger(client);
    return refuse(std::move(fd), client, from, {ErrorKind::client_denied, "access.clients"}, in_words);
  }
  std::optional<Endpoint> destination;
  if (rules.mode == conf::Listener::Mode::transparent) {
    destination = original_destination(fd.get());
    if (!destination) {
      return refuse(std::move(fd), client, from,
                    {ErrorKind::misdirected, "this listener is for redirected connections"}, true);
    }
  }
  bool counted = false;
  switch (admit(client, named_later, counted)) {
    case Admission::admitted:
      break;
    case Admission::full:
      return refuse(std::move(fd), client, from, {ErrorKind::connection_limit, "limits.client_connections"}, in_words);
    case Admission::client_full:
      return refuse(std::move(fd), client, from, {ErrorKind::connection_limit, "limits.connections_per_client"},
                    in_words);
  }
  const auto reached = from.is_of_every_address() ? local_end(fd.get()) : std::nullopt;
  auto connection = std::make_unique<ClientSession>(*state_, *this, std::move(fd), client, from.name(), rules);
  if (destination) connection->expect_redirected(*destination);
  if (reached) connection->note_reached(*reached);
  connection->table_index = clients_.size();
  connection->counted_by_address = counted;
  clients_.push_back(std::move(connection));
}

Admission Worker::admit(const Endpoint& client, bool named_later, bool& counted) {
  const conf::Limits& limits = state_->snapshot->settings.limits;
  const auto enter = [&] {
    return named_later ? limits_.enter_unnamed(limits) : limits_.enter(client, limits, counted);
  };
  Admission admission = enter();
  if (admission == Admission::client_full && shed_idle_of(ClientLimits::key_of(client))) admission = enter();
  if (admission != Admission::full) return admission;
  return shed_idle() || shed_at_peer() ? admit_in_place(client, named_later, counted) : admission;
}

// Admits a client in place of one that was closed, or that a peer worker is about to close. Skips the check of the
// limit: until the peer has closed its client there is one more than the limit, and the new one must not be refused for
// that.
Admission Worker::admit_in_place(const Endpoint& client, bool named_later, bool& counted) {
  if (!named_later) return limits_.enter_in_place(client, state_->snapshot->settings.limits, counted);
  limits_.enter_unnamed_in_place();
  return Admission::admitted;
}

// Closes the client that has idled longest of those that may go; looks at `most` of them. Clients with unread octets
// are skipped: they have just sent a request and are still in the list.
template <typename May>
bool Worker::shed_first(std::size_t most, May may) {
  std::size_t looked_at = 0;
  for (auto* client = idle_.empty() ? nullptr : &idle_.front(); client != nullptr; client = idle_.after(*client)) {
    if (++looked_at > most) return false;
    if (!may(*client) || client->has_unseen()) continue;
    counters_.client_connections_shed_total.add();
    client->close();
    return true;
  }
  return false;
}

bool Worker::shed_idle() {
  return shed_first(kMostLookedAt, [](const ClientSession&) { return true; });
}

bool Worker::shed_idle_of(const ClientLimits::Key& key) {
  return shed_first(kMostLookedAt, [&](const ClientSession& client) {
    return client.counted_by_address && ClientLimits::key_of(client.client_info().endpoint) == key;
  });
}

// Who has just come, and has not asked for anything yet, does not idle.
bool Worker::shed_holder() {
  return shed_first(kMostLookedAtForMemory, [now = monotonic_now()](const ClientSession& client) {
    const ClientStream& stream = client;
    const bool has_just_come = !stream.was_answered() && now - stream.last_active() < kArrival;
    return client.holds_tls() && !has_just_come;
  });
}

// As many a turn as can arrive in one: handshakes are begun faster than one a turn.
void Worker::make_room() {
  for (std::size_t i = 0; i < kMostShedForMemory; ++i) {
    const std::uint64_t before = pool_.in_use();
    const bool is_shed = shed_holder();
    // Some of it only after this turn; and what is closed may still have something to say, which takes a block.
    const std::uint64_t freed = std::max(before - std::min<std::uint64_t>(before, pool_.in_use()), kHeldByIdle);
    if (!pool_.pay_back(is_shed ? freed : SIZE_MAX)) return;
  }
  lacks_memory_.trigger();
}

bool Worker::shed_at_peer() {
  for (const auto& peer : peers_) {
    if (peer.get() == this || peer->counters_.client_connections_idle.get() == 0) continue;
    peer->loop_.post([&other = *peer] { other.shed_for_peer(other.peers_.size()); });
    return true;
  }
  return false;
}

// Two workers may have meant the same idle client; the second then takes one of the next worker that has any.
void Worker::shed_for_peer(std::size_t workers_left) {
  if (shed_idle() || workers_left <= 1) return;
  auto next = std::find_if(peers_.begin(), peers_.end(), [this](const auto& peer) { return peer.get() == this; });
  if (++next == peers_.end()) next = peers_.begin();
  (*next)->loop_.post([&other = **next, workers_left] { other.shed_for_peer(workers_left - 1); });
}

bool Worker::is_stranger(const Endpoint& client) const {
  return !state_->snapshot->access.client_allowed(client.address());
}

// The first thing to look for in the log when a new client cannot connect; rate-limited, so that a flood does not fill
// the log.
void Worker::note_stranger(const Endpoint& client) {
  ++told_.strangers_untold;
  const Milliseconds now = monotonic_now();
  if (told_.stranger != Milliseconds(0) && now - told_.stranger < kTellAgain) return;
  told_.stranger = now;
  const std::string address = client.unmapped().ip();
  AccessRecord record;
  record.start = std::chrono::system_clock::now();
  record.client = address;
  record.refused = true;
  log::warning("{} is not in access.clients and was refused ({} connections of such clients since the last such line)",
               client_in_line(record, state_->snapshot->query_log, state_->mask),
               std::exchange(told_.strangers_untold, 0));
}

std::optional<std::string> Worker::on_client_named(ClientSession& client) {
  const Endpoint& endpoint = client.client_info().endpoint;
  if (is_stranger(endpoint)) {
    note_stranger(endpoint);
    return refusal_of(client.client_info(), {ErrorKind::client_denied, "access.clients"}, !client.awaits_tls());
  }
  const conf::Limits& limits = state_->snapshot->settings.limits;
  auto admission = limits_.name(endpoint, limits, client.counted_by_address);
  if (admission == Admission::client_full && shed_idle_of(ClientLimits::key_of(endpoint))) {
    admission = limits_.name(endpoint, limits, client.counted_by_address);
  }
  if (admission == Admission::admitted) return std::nullopt;
  return refusal_of(client.client_info(), {ErrorKind::connection_limit, "limits.connections_per_client"},
                    !client.awaits_tls());
}

void Worker::on_client_idle(ClientSession& client, bool is_idle) {
  if (is_idle) {
    idle_.push_back(client);
    counters_.client_connections_idle.add();
  } else {
    client.leave();
    counters_.client_connections_idle.subtract();
  }
}

// Counts and logs it. Returns the answer; `in_words`: it is sent to the client.
std::string Worker::refusal_of(const ClientInfo& client, const HttpError& why, bool in_words) {
  counters_.client_connections_refused_total.add();
  counters_.count_error(why.kind);
  const DecisionId id = state_->ids.next();
  ReplyContext context;
  context.proxy_name = state_->snapshot->settings.headers.via_name;
  context.now = std::chrono::system_clock::now();
  context.close = true;
  context.decision_id = id.text();
  std::string answer;
  write_error(answer, why, context);
  log_refusal(client, why, id, in_words ? answer.size() : 0);
  return answer;
}

// `told`: octets of the answer. Rate-limited, so that a flood of connections does not fill the disk.
void Worker::log_refusal(const ClientInfo& client, const HttpError& why, const DecisionId& id, std::size_t told) {
  const Milliseconds now = monotonic_now();
  if (now - told_.refusals_since >= kRefusalsWindow) {
    told_.refusals_since = now;
    told_.refusals = 0;
  }
  if (++told_.refusals > kMostRefusalsLogged) return;
  AccessRecord record = begin_record(client, RequestTimes::from_now(), std::chrono::microseconds(0));
  record.status = told == 0 ? 0 : facts(why.kind).status;
  record.bytes_sent = told;
  note_refusal(record, why, id);
  write_record(*state_, record, *state_->snapshot);
}

// Answers at once, without a session: refused clients must not use memory, such as that of a TLS handshake.
void Worker::refuse(UniqueFd fd, const Endpoint& client, const Acceptor& from, const HttpError& why, bool in_words) {
  const std::string answer = refusal_of({client, client.unmapped().ip(), &from.name()}, why, in_words);
  if (in_words) refused_.tell(std::move(fd), answer);
}

}  // namespace bloomwall::proxy
