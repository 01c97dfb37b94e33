// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/exception_review.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "filter/policy/policy.h"
#include "proxy/decision/snapshot.h"
#include "proxy/explain/name_review.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;

// The verdict on what the entry itself says.
filter::Verdict verdict_on(const filter::Policy& policy, const Override& made) {
  filter::Canonicaliser canonicaliser;
  if (filter::is_host_kind(made.kind)) return policy.judge_host(canonicaliser.host(made.entry));
  return policy.judge(canonicaliser.url("http://" + made.entry));
}

bool names_filter(const Override& made, const std::string& filter) {
  return std::ranges::find(made.filters, filter) != made.filters.end();
}

// Names each filter in it that takes exceptions and lists some of this network: to which of its addresses the entry
// leads is not known.
void name_those_of_network(const filter::Policy& policy, const filter::AddressRange& network, Override& made) {
  for (const auto& state : policy.filters()) {
    const bool stops = state.spec.action == filter::FilterAction::block && state.spec.takes_overrides;
    if (stops && !names_filter(made, state.spec.name) && state.file->networks().overlaps(network)) {
      made.filters.push_back(state.spec.name);
    }
  }
}

Override for_everybody(Override made) {
  made.client.reset();
  made.user = made.group = {};
  return made;
}

std::string takes_none(const filter::FilterSpec& spec) {
  return fmt::format("the filter {} takes no exceptions (filters[].exceptions); an allow list opens it", spec.name);
}

}  // namespace

std::string ExceptionReview::refusal(const Override& made) const {
  if (!made.group.empty() && served_.snapshot != nullptr) {
    std::string unknown = unknown_group(served_.snapshot->groups.get(), made.group);
    if (!unknown.empty()) return unknown;
  }
  if (made.action == Override::Action::deny || served_.policy == nullptr) return {};
  for (const auto& state : served_.policy->filters()) {
    if (names_filter(made, state.spec.name) && !state.spec.takes_overrides) return takes_none(state.spec);
  }
  if (!made.filters.empty()) return {};
  const PolicyPtr with = served_.policy->with({for_everybody(made)});
  const filter::Verdict verdict = verdict_on(*with, made);
  const bool is_stopped = verdict.decision == filter::Decision::blocked && verdict.filter != nullptr;
  return is_stopped && !verdict.filter->takes_overrides ? takes_none(*verdict.filter) : std::string();
}

bool ExceptionReview::widen(Override& made, const std::string& group,
                            const std::optional<filter::AddressRange>& network) const {
  PolicyPtr policy = served_.policy;
  if (policy == nullptr) return true;
  for (std::size_t i = 0; served_.groups != nullptr && i < served_.groups->size(); ++i) {
    if (served_.snapshot->groups->name(i) == group) policy = served_.groups->of(i);
  }
  while (true) {
    const PolicyPtr with = policy->with({for_everybody(made)});
    const filter::Verdict verdict = verdict_on(*with, made);
    if (verdict.decision != filter::Decision::blocked) {
      if (network) name_those_of_network(*policy, *network, made);
      return true;
    }
    if (verdict.reason == filter::VerdictReason::default_deny) return false;
    if (names_filter(made, verdict.filter->name))
      return true;  // it blocks although it is named: it takes no exceptions
    made.filters.push_back(verdict.filter->name);
  }
}

std::vector<std::string> ExceptionReview::warnings(const Override& made) const {
  std::vector<std::string> out;
  if (served_.policy == nullptr) return out;
  Override of_user = made;  // names of filters are looked at one by one below
  of_user.filters.clear();
  if (std::string fault_found = fault(of_user); !fault_found.empty()) out.push_back(std::move(fault_found));
  const auto filters = served_.policy->filters();
  for (const std::string& name : made.filters) {
    const auto is_named = [&](const filter::Policy::FilterState& state) { return state.spec.name == name; };
    if (std::ranges::none_of(filters, is_named)) out.push_back(fmt::format("no filter has the name {}", name));
  }
  if (filter::is_host_kind(made.kind)) return out;
  filter::Canonicaliser canonicaliser;
  const filter::Verdict verdict =
      served_.policy->judge_host(canonicaliser.host(std::string_view(made.entry).substr(0, made.entry.find('/'))));
  const bool are_urls_seen =
      served_.snapshot != nullptr && served_.snapshot->inspection != nullptr &&
      conf::greatest_inspection_mode(served_.snapshot->settings) >= conf::TlsInspection::Mode::urls;
  if (are_urls_seen) return out;
  if (made.action == Override::Action::deny) {
    out.emplace_back("a path is not seen inside https tunnels; deny the host to close those as well");
  } else if (verdict.decision == filter::Decision::blocked) {
    out.push_back(
        fmt::format("tunnels to its host stay blocked by {}: over https this opens nothing", verdict.filter->name));
  }
  return out;
}

std::string ExceptionReview::fault(const Override& made) const {
  return served_.snapshot == nullptr ? std::string() : NameReview(*served_.snapshot, tokens_).fault_of(made);
}

}  // namespace bloomwall::proxy
