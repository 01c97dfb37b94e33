// SPDX-License-Identifier: Apache-2.0

#include "proxy/decision/worker_state.h"

#include <algorithm>
#include <utility>

#include "proxy/auth/authenticator.h"
#include "proxy/decision/recent_denials.h"
#include "proxy/decision/tls_inspection.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kRewrittenBytes = std::size_t{8} * 1024, kRewrittenFields = 16;

}  // namespace

WorkerState::WorkerState(IoContext& io_context, DialContext dial_context, Counters& own_counters, AccessLog& access_log,
                         std::string instance_name, RequestRate& request_rate, Authenticator& process_authenticator,
                         std::size_t worker_count)
    : io(io_context),
      dial(dial_context),
      counters(own_counters),
      log(access_log),
      rate(request_rate),
      authenticator(process_authenticator),
      credential_hasher(process_authenticator.secret()),
      workers(worker_count),
      upstreams(io_context, own_counters, dial_context.own_connections, dial_context.places),
      pages(io_context.loop),
      tunnels(io_context.loop),
      mailbox(std::make_shared<LoopMailbox>(io_context.loop)),
      instance(std::move(instance_name)),
      request_readers(request_limits, io_context.pool),
      response_readers(response_limits, io_context.pool),
      sent_requests(rewritten_limits, io_context.pool),
      sent_answers(rewritten_limits, io_context.pool),
      gather(io_context.scratch.size()),
      recount_(
          io_context.loop.timers(), [](void* self) { static_cast<WorkerState*>(self)->recount_auto_passes(); }, this) {}

WorkerState::~WorkerState() { mailbox->close(); }

void WorkerState::adopt(SnapshotPtr next, PolicyPtr next_policy, GroupPoliciesPtr groups) {
  const conf::Config& settings = next->settings;
  // A name that has other addresses now must not use a pooled connection to its old ones, and a parent none that was
  // made with other settings. For connections in use, or being made, see routes_since.
  if (snapshot != nullptr && (snapshot->hosts != next->hosts || snapshot->settings.upstream != settings.upstream)) {
    upstreams.clear();
    routes_since = next->generation;
  }
  // Readers hold references to these and take new limits with the next message.
  request_limits.head_bytes = settings.limits.request_header;
  response_limits.head_bytes = settings.limits.response_header;
  request_limits.fields = response_limits.fields = settings.limits.header_fields;
  rewritten_limits.head_bytes = std::max(request_limits.head_bytes, response_limits.head_bytes) + kRewrittenBytes;
  rewritten_limits.fields = request_limits.fields + kRewrittenFields;
  const std::size_t pooled = settings.limits.pooled_connections;
  upstreams.set_limits((pooled + workers - 1) / workers, settings.limits.pooled_per_origin);
  io.pool.set_limit(static_cast<std::size_t>(settings.limits.buffer_memory) / workers);
  if (!settings.self_page.recent && recent_denials != nullptr) recent_denials->clear();
  via = settings.headers.via ? settings.headers.via_name + " (" + instance + ")" : std::string();
  if (next != snapshot) adopt_inspection(*next);  // else exceptions or switches have changed, and nothing is forgotten
  snapshot = std::move(next);
  decider.adopt(snapshot, std::move(next_policy), std::move(groups));
  tunnels.review(++editions);
}

Milliseconds WorkerState::idle_time(Milliseconds idle) const {
  constexpr Milliseconds kBeforeTheCut{1000};
  if (!draining) return idle;
  if (!has_successor()) return std::min(idle, kIdleDrain);
  const Milliseconds left = std::max(ends_behind_successor - monotonic_now(), Milliseconds(0));
  return std::min(idle, std::max(left - kBeforeTheCut, left / 2));
}

// They end with time, without an event.
void WorkerState::recount_auto_passes() {
  constexpr Milliseconds kAgain{10'000};
  if (!counts_refusals) return;
  const std::size_t entries = refusals.auto_pass_entries(TlsRefusals::Clock::now());
  counters.auto_pass_entries.set(entries);
  entries > 0 ? recount_.set(kAgain) : recount_.clear();
}

void WorkerState::adopt_inspection(const Snapshot& next) {
  origin_facts.clear();
  refusals.adopt(next.settings.tls_inspection.auto_pass);
  recount_auto_passes();
  origin_tls = nullptr;
  if (next.inspection == nullptr) return;
  auto made = next.inspection->make_origin_context();
  if (made) {
    origin_tls = *std::move(made);
  } else {
    log::error("tls_inspection: {}; connections are not intercepted", made.error());
  }
}

}  // namespace bloomwall::proxy
