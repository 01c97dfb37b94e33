// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/policy.h"

#include <algorithm>
#include <utility>

#include "filter/policy/filter_store.h"
#include "filter/policy/pending_verdict.h"
#include "filter/policy/policy_impl.h"

namespace bloomwall::filter {
namespace {

Verdict judge_without_stopping(const Policy& policy, const CanonicalUrl& url, Scope scope) {
  PendingVerdict pending(policy, url, scope);
  while (!pending.advance()) {
  }
  return pending.take();
}

}  // namespace

const char* to_string(Decision decision) {
  switch (decision) {
    case Decision::allowed:
      return "allowed";
    case Decision::monitored:
      return "monitored";
    case Decision::blocked:
      return "blocked";
    case Decision::rejected:
      return "rejected";
  }
  return "unknown";
}

const char* to_string(VerdictReason reason) {
  switch (reason) {
    case VerdictReason::unlisted:
      return "unlisted";
    case VerdictReason::allow_list:
      return "allow_list";
    case VerdictReason::listed:
      return "listed";
    case VerdictReason::confirmed:
      return "confirmed";
    case VerdictReason::delta:
      return "delta";
    case VerdictReason::exception:
      return "exception";
    case VerdictReason::refuted:
      return "refuted";
    case VerdictReason::filter_lost:
      return "filter_lost";
    case VerdictReason::bad_url:
      return "bad_url";
  }
  return "unknown";
}

Policy::Policy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  const auto is_paged = [](const LoadedFilter& filter) { return filter.file->residence() == Residence::paged; };
  is_paged_ = std::any_of(impl_->filters.begin(), impl_->filters.end(), is_paged);
  const auto holds = [](const LoadedFilter& filter) { return holds_networks(filter.target()); };
  has_networks_ = std::any_of(impl_->filters.begin(), impl_->filters.end(), holds);
}
Policy::~Policy() = default;

tl::expected<std::shared_ptr<const Policy>, std::vector<Error>> Policy::load(const PolicySpec& spec,
                                                                             const LoadOptions& options) {
  return FilterStore().load(spec, options);
}

Verdict Policy::judge(const CanonicalUrl& url) const { return judge_without_stopping(*this, url, Scope::url); }
Verdict Policy::judge_host(const CanonicalUrl& host) const { return judge_without_stopping(*this, host, Scope::host); }

std::vector<Policy::FilterState> Policy::filters() const {
  std::vector<FilterState> states;
  states.reserve(impl_->filters.size());
  for (const LoadedFilter& filter : impl_->filters) {
    states.push_back({.spec = filter.spec,
                      .file = filter.file.get(),
                      .delta_entries = filter.delta ? filter.delta->size() : 0,
                      .delta_sequence = filter.delta ? filter.delta->sequence() : 0,
                      .signed_by = filter.signed_by,
                      .exact = filter.exact.get()});
  }
  return states;
}

double Policy::FilterState::delta_share() const { return filter::delta_share(delta_entries, file->header()); }

std::uint64_t Policy::allow_entries() const { return impl_->allow.size(); }

Policy::RequestError Policy::predicted_error() const {
  RequestError sum;
  for (const LoadedFilter& filter : impl_->filters) {
    if (filter.spec.action != FilterAction::block) continue;
    const PredictedErrors& predicted = filter.file->header().predicted;
    sum.unlisted_host += predicted.unlisted_host.mean;
    sum.listed_host += predicted.listed_host.mean;
  }
  return {std::min(sum.unlisted_host, 1.0), std::min(sum.listed_host, 1.0)};
}

}  // namespace bloomwall::filter
