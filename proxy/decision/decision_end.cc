// Until when what was blocked stays blocked (declared in decision.h).
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "proxy/decision/decision.h"

namespace bloomwall::proxy {
namespace {

BlockEnds::Then then_of(const filter::Verdict& verdict) {
  return {.decision = verdict.decision, .reason = verdict.reason, .exception = verdict.exception};
}

bool is_still_blocked(const std::optional<BlockEnds::Then>& now) {
  return now && now->decision == filter::Decision::blocked;
}

}  // namespace

// What the rules refuse by then is not served either.
BlockEnd Decider::block_end(const RequestContext& request, const filter::Verdict& verdict) {
  if (verdict.decision != filter::Decision::blocked) return {};
  const std::size_t group = group_of(request.client, request.user);
  const auto judge = [&](const filter::Policy& policy, Instant at) -> std::optional<BlockEnds::Then> {
    as_of_ = {.policy = &policy, .at = at};
    const Decision then = decide_request(request, group);
    as_of_ = {};
    const bool is_decided = then.act != Decision::Act::wait_for_pages && then.act != Decision::Act::refuse;
    return is_decided ? std::optional(then_of(then.verdict)) : std::nullopt;
  };
  const Instant now = instant_now();
  const filter::Policy& current = seen_by(request.client, request.user, group).policy;
  if (verdict.kind == filter::Kind::network && !is_still_blocked(judge(current, now))) return {};
  return block_ends_.of(group, verdict, now, judge);
}

BlockEnd Decider::block_end(const ClientInfo& client, const User* user, std::string_view host,
                            const filter::Verdict& verdict) {
  if (verdict.decision != filter::Decision::blocked) return {};
  const std::size_t group = group_of(client, user);
  const auto judge = [&](const filter::Policy& policy, Instant at) -> std::optional<BlockEnds::Then> {
    as_of_ = {.policy = &policy, .at = at};
    const auto then = target_check_.host(host, seen_by(client, user, group));
    as_of_ = {};
    return then ? std::optional(then_of(then->verdict)) : std::nullopt;
  };
  const Instant now = instant_now();
  if (!is_still_blocked(judge(seen_by(client, user, group).policy, now))) return {};
  return block_ends_.of(group, verdict, now, judge);
}

}  // namespace bloomwall::proxy
