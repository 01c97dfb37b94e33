// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/policy.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "filter/file/exact_side.h"
#include "filter/file/mapped_pages.h"
#include "filter/file/prediction.h"
#include "filter/keys/keys.h"
#include "filter/policy/filter_store.h"
#include "filter/policy/lookup.h"
#include "filter/policy/pending_verdict.h"
#include "filter/policy/policy_impl.h"
#include "filter/policy/raw_verdict.h"

namespace bloomwall::filter {
namespace {

Verdict judge_without_stopping(const Policy& policy, const CanonicalUrl& url, Scope scope, const Asker& asker) {
  PendingVerdict pending(policy, url, scope, asker);
  while (!pending.advance()) {
  }
  return pending.take();
}

}  // namespace

void overtake(Verdict& verdict, bool blocks) {
  if (blocks && verdict.decision == Decision::monitored) verdict.overtaken = verdict.filter->name;
}

const char* to_string(Decision decision) {
  static constexpr auto kWords = name_table<Decision>({{Decision::allowed, "allowed"},
                                                       {Decision::monitored, "monitored"},
                                                       {Decision::blocked, "blocked"},
                                                       {Decision::rejected, "rejected"}});
  return kWords.text(decision);
}

const char* to_string(FilterAction action) {
  static constexpr auto kWords = name_table<FilterAction>({{FilterAction::block, "block"},
                                                           {FilterAction::monitor, "monitor"},
                                                           {FilterAction::no_decrypt, "no_decrypt"},
                                                           {FilterAction::allow, "allow"},
                                                           {FilterAction::off, "off"}});
  return kWords.text(action);
}

const char* to_string(Otherwise otherwise) { return otherwise == Otherwise::deny ? "deny" : "allow"; }

const FilterSpec& otherwise_spec() {
  static const FilterSpec spec{.name = "otherwise", .file = {}, .delta = {}};
  return spec;
}

const char* to_string(VerdictReason reason) {
  static constexpr auto kWords = name_table<VerdictReason>({{VerdictReason::unlisted, "unlisted"},
                                                            {VerdictReason::allow_list, "allow_list"},
                                                            {VerdictReason::excepted, "excepted"},
                                                            {VerdictReason::allow_filter, "allow_filter"},
                                                            {VerdictReason::listed, "listed"},
                                                            {VerdictReason::confirmed, "confirmed"},
                                                            {VerdictReason::delta, "delta"},
                                                            {VerdictReason::exception, "exception"},
                                                            {VerdictReason::refuted, "refuted"},
                                                            {VerdictReason::filter_lost, "filter_lost"},
                                                            {VerdictReason::denied, "denied"},
                                                            {VerdictReason::default_deny, "default_deny"},
                                                            {VerdictReason::bad_url, "bad_url"}});
  return kWords.text(reason);
}

void give_hash_places(std::vector<LoadedFilter>& filters) {
  struct HashPlace {
    std::uint64_t seed = 0;
    std::size_t last_used = 0;  // by which filter, counted from 1; 0: free
  };
  std::array<HashPlace, PendingVerdict::kGroup> places;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const std::uint64_t seed = filters[i].file->keys().seed();
    auto* place = std::ranges::find_if(places, [&](const HashPlace& p) { return p.last_used != 0 && p.seed == seed; });
    if (place == places.end()) place = std::ranges::min_element(places, {}, &HashPlace::last_used);
    *place = {.seed = seed, .last_used = i + 1};
    filters[i].hash_place = static_cast<std::size_t>(place - places.begin());
  }
}

Policy::Policy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  const auto is_paged = [](const LoadedFilter& filter) {
    return !filter.is_off() && filter.file->residence() == Residence::paged;
  };
  is_paged_ = std::any_of(impl_->filters.begin(), impl_->filters.end(), is_paged);
  const auto holds = [](const LoadedFilter& filter) {
    return !filter.exempts() && !filter.is_off() && holds_networks(filter.target());
  };
  has_networks_ = std::any_of(impl_->filters.begin(), impl_->filters.end(), holds);
}
Policy::~Policy() = default;

std::shared_ptr<const Policy> Policy::with(std::vector<Override> overrides) const {
  auto impl = std::make_unique<Impl>(*impl_);
  if (!overrides.empty()) {
    std::vector<std::string> names;
    for (const LoadedFilter& filter : impl->filters) {
      names.push_back(filter.spec.takes_overrides ? filter.spec.name : std::string());
    }
    impl->overrides = std::make_shared<const Overrides>(impl->allow.entries().keys(), names, std::move(overrides),
                                                        impl_->overrides.get());
  }
  return std::shared_ptr<const Policy>(new Policy(std::move(impl)));
}

std::shared_ptr<const Policy> Policy::view(const PolicyView& view) const {
  std::vector<LoadedFilter> filters = impl_->filters;
  for (std::size_t i = 0; i < filters.size(); ++i) filters[i].spec.action = view.actions[i];
  const auto& lists = view.allow_lists == 0 ? impl_->allow_lists : impl_->more_allow_lists[view.allow_lists - 1];
  auto impl = std::make_unique<Impl>(std::move(filters), lists, view.otherwise);
  impl->overrides = impl_->overrides;
  return std::shared_ptr<const Policy>(new Policy(std::move(impl)));
}

bool Policy::is(const PolicyView& view) const {
  const auto action = [](const LoadedFilter& filter) { return filter.spec.action; };
  return view.allow_lists == 0 && view.otherwise == impl_->otherwise &&
         std::ranges::equal(impl_->filters, view.actions, {}, action);
}

tl::expected<std::shared_ptr<const Policy>, std::vector<Error>> Policy::load(const PolicySpec& spec,
                                                                             const LoadOptions& options) {
  return FilterStore().load(spec, options);
}

Verdict Policy::judge(const CanonicalUrl& url, const Asker& asker) const {
  return judge_without_stopping(*this, url, Scope::url, asker);
}
Verdict Policy::judge_host(const CanonicalUrl& host, const Asker& asker) const {
  return judge_without_stopping(*this, host, Scope::host, asker);
}

Verdict Policy::judge_raw(std::string_view bytes) const {
  return *raw_key_verdict(impl_->filters, impl_->otherwise, {.bytes = bytes}, nullptr);
}

std::optional<Verdict> Policy::judge_raw_at_once(std::string_view bytes, std::string_view filter,
                                                 std::vector<const std::byte*>& absent) const {
  absent.clear();
  const Otherwise otherwise = filter.empty() ? impl_->otherwise : Otherwise::allow;
  return raw_key_verdict(impl_->filters, otherwise, {bytes, filter}, is_paged_ ? &absent : nullptr);
}

Policy::RawKeys Policy::raw_keys_of(std::string_view filter) const {
  const auto found = std::ranges::find_if(impl_->filters, [&](const LoadedFilter& f) { return f.spec.name == filter; });
  if (found == impl_->filters.end()) return RawKeys::no_such_filter;
  if (found->is_off() || found->exempts()) return RawKeys::off;
  if (found->file->lost()) return RawKeys::lost;
  return found->file->raw() || found->delta != nullptr ? RawKeys::held : RawKeys::none;
}

std::vector<Policy::FilterState> Policy::filters() const {
  std::vector<FilterState> states;
  states.reserve(impl_->filters.size());
  for (const LoadedFilter& filter : impl_->filters) states.push_back(filter.state());
  return states;
}

std::vector<Error> Policy::damage() const {
  std::vector<Error> out;
  for (const LoadedFilter& filter : impl_->filters) {
    if (!filter.checks_reads) continue;
    if (auto damage = filter.file->damage()) out.push_back(*std::move(damage));
    if (filter.exact == nullptr) continue;
    if (auto damage = filter.exact->damage()) out.push_back(*std::move(damage));
  }
  return out;
}

namespace {

// A positive of the bits that is wrong passes the exact side, too, with the probability that is left there.
double left_by(const ExactSide* exact) {
  return exact == nullptr ? 1.0 : std::min(residual_error(exact->header()), 1.0);
}

Policy::RequestError predicted_of(const FilterFile& file, const ExactSide* exact) {
  const PredictedErrors& predicted = file.header().predicted;
  const double left = left_by(exact);
  return {.unlisted_host = left * predicted.unlisted_host.mean, .listed_host = left * predicted.listed_host.mean};
}

}  // namespace

double Policy::FilterState::delta_share() const { return filter::delta_share(delta_entries, file->header()); }
Policy::RequestError Policy::FilterState::predicted_error() const { return predicted_of(*file, exact); }
Policy::RequestError Policy::FilterState::p99_error() const {
  const PredictedErrors& predicted = file->header().predicted;
  const double left = left_by(exact);
  return {.unlisted_host = left * predicted.unlisted_host.p99, .listed_host = left * predicted.listed_host.p99};
}
WorstHost Policy::FilterState::worst_host() const {
  WorstHost worst = worst_host_of(file->header());
  worst.error *= left_by(exact);
  return worst;
}

std::uint64_t Policy::allow_entries() const { return impl_->allow.size() - impl_->allow.exceptions(); }
std::uint64_t Policy::list_exceptions() const { return impl_->allow.exceptions(); }
std::size_t Policy::overrides() const { return impl_->overrides == nullptr ? 0 : impl_->overrides->size(); }
std::optional<std::int64_t> Policy::override_end(std::uint64_t id) const {
  return impl_->overrides == nullptr ? std::nullopt : impl_->overrides->end_of(id);
}
bool Policy::overrides_ask_who() const { return impl_->overrides != nullptr && impl_->overrides->ask_who(); }

namespace {

Policy::RequestError predicted_sum(const std::vector<LoadedFilter>& filters, FilterAction action) {
  Policy::RequestError sum;
  for (const LoadedFilter& filter : filters) {
    if (filter.spec.action != action) continue;
    const Policy::RequestError predicted = predicted_of(*filter.file, filter.exact.get());
    sum.unlisted_host += predicted.unlisted_host;
    sum.listed_host += predicted.listed_host;
  }
  return {std::min(sum.unlisted_host, 1.0), std::min(sum.listed_host, 1.0)};
}

}  // namespace

Policy::RequestError Policy::predicted_error() const { return predicted_sum(impl_->filters, FilterAction::block); }
Policy::RequestError Policy::predicted_leak() const { return predicted_sum(impl_->filters, FilterAction::allow); }

bool Policy::has_white_list() const {
  return std::ranges::any_of(impl_->filters, [](const LoadedFilter& filter) { return filter.admits(); });
}
Otherwise Policy::otherwise() const { return impl_->otherwise; }

double Policy::false_mark_rate(bool of_monitor) const {
  double sum = 0;
  for (const LoadedFilter& filter : impl_->filters) {
    const FilterAction action = filter.spec.action;
    const bool counts = action == FilterAction::block || (of_monitor && action == FilterAction::monitor);
    if (counts) sum += filter::false_mark_rate(filter.file->header());
  }
  return std::min(sum, 1.0);
}

std::optional<Verdict> Policy::judge_at_once(const CanonicalUrl& url, std::vector<const std::byte*>& absent,
                                             const Asker& asker) const {
  absent.clear();
  PendingVerdict pending(*this, url, Scope::url, asker);
  while (!pending.advance()) {
    pending.append_absent(absent);
    if (!absent.empty()) return std::nullopt;
  }
  return pending.take();
}

void Policy::fault_in(std::span<const std::byte* const> pages) {
  for (const std::byte* page : pages) {
    const std::span<std::byte> whole = system_pages_of({page, kPageBytes});
    madvise(whole.data(), whole.size(), MADV_WILLNEED);
  }
  for (const std::byte* page : pages) static_cast<void>(*const_cast<const volatile std::byte*>(page));
}

void Policy::check_pages(std::span<const std::byte* const> pages) const {
  for (const std::byte* page : pages) {
    for (const LoadedFilter& filter : impl_->filters) {
      filter.file->check_page(page);
      if (filter.exact && filter.exact->holds(page)) filter.exact->note_awaited(page);
    }
  }
}

}  // namespace bloomwall::filter
