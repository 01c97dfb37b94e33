// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/build_review.h"

#include <algorithm>
#include <cstddef>

#include "base/encoding.h"
#include "filter/policy/overrides.h"

namespace bloomwall::proxy {
namespace {

bool is_against(const filter::Override& made, const filter::FilterSpec& spec) {
  const bool stops = spec.action == filter::FilterAction::block || spec.action == filter::FilterAction::monitor;
  const bool is_named = made.filters.empty() || std::ranges::find(made.filters, spec.name) != made.filters.end();
  return stops && is_named && spec.takes_overrides;
}

// Whether some of a network is in the files still.
bool holds(const filter::Override& made, const filter::Policy& policy, const filter::AddressRange& network) {
  const auto filters = policy.filters();
  return std::ranges::any_of(filters, [&](const filter::Policy::FilterState& state) {
    return is_against(made, state.spec) && state.file->networks().overlaps(network);
  });
}

}  // namespace

// The same filters, asked for what this one is against alone, and without exceptions.
bool is_listed(const filter::Override& made, const filter::Policy* policy) {
  if (policy == nullptr) return true;
  filter::PolicyView view;
  for (const auto& state : policy->filters()) {
    view.actions.push_back(is_against(made, state.spec) ? state.spec.action : filter::FilterAction::off);
  }
  const auto alone = policy->with({})->view(view);
  filter::Canonicaliser canonicaliser;
  if (filter::is_host_kind(made.kind)) {
    return alone->judge_host(canonicaliser.host(made.entry)).decision != filter::Decision::allowed;
  }
  std::vector<const std::byte*> absent;
  const auto verdict = alone->judge_at_once(canonicaliser.url("http://" + made.entry), absent);
  return !verdict || verdict->decision != filter::Decision::allowed;
}

std::map<std::string, std::string> builds_of(const filter::Override& made, const filter::Policy* policy) {
  std::map<std::string, std::string> builds;
  if (policy == nullptr) return builds;
  for (const auto& state : policy->filters()) {
    if (is_against(made, state.spec)) builds[state.spec.name] = to_hex(state.file->header().file_id);
  }
  return builds;
}

std::vector<StateStore::BuildFinding> review_builds(const State& state, const filter::Policy& policy) {
  std::vector<StateStore::BuildFinding> findings;
  for (const ExceptionItem& item : state.exceptions) {
    if (!item.until_build) continue;
    // A filter cannot tell by a name that it lists the network that the name leads to.
    const ReportItem* const report = find_report(*state.reports, item.report);
    const auto network = report == nullptr ? std::nullopt : network_of(*report);
    const bool is_in_network = network && holds(item.exception, policy, *network);
    StateStore::BuildFinding finding{.id = item.exception.id,
                                     .is_listed = is_in_network || is_listed(item.exception, &policy),
                                     .seen = builds_of(item.exception, &policy)};
    finding.is_new_build = finding.seen != item.seen;
    if (!finding.is_listed || finding.is_new_build) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace bloomwall::proxy
