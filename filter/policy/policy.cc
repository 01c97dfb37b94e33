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

#include "filter/file/prediction.h"
#include "filter/file/system_page.h"
#include "filter/keys/url_parts.h"
#include "filter/policy/filter_store.h"
#include "filter/policy/lookup.h"
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

// The networks asked for an address that is dialled; the rules are those of PendingVerdict, with this one question.

// Why a filter would stop the address; nothing where it would not.
std::optional<VerdictReason> reason_of(const LoadedFilter& filter, const Address& address) {
  if (filter.exempts()) return std::nullopt;
  const LookupAnswer answer = ask_networks(filter.target(), address);
  // A delta lies in memory: what it adds holds whatever became of the file.
  if (answer == LookupAnswer::added_by_delta) return VerdictReason::delta;
  if (filter.file->lost()) {
    if (filter.spec.on_error == OnFilterError::block) return VerdictReason::filter_lost;
    return std::nullopt;
  }
  return answer == LookupAnswer::yes ? std::optional(VerdictReason::listed) : std::nullopt;
}

// What overrides and allow lists say of one form of the URL, and of the address.
class AllowMatches {
 public:
  AllowMatches(const AllowLists& allow, const Overrides* overrides, UrlParts& parts, Scope scope,
               const Address& address)
      : allow_(allow), parts_(parts), address_(address) {
    if (allow.empty() && overrides == nullptr) return;
    UrlHashes hashes(allow.entries().keys(), parts);
    if (overrides != nullptr) overrides->find(hashes, scope, override_);
    if (allow.empty()) return;
    allow.entries().find_matches(hashes, scope, matches_);
    allow.find_networks(address, matches_);
    own_entry_ = allow.find_address(address);
  }
  // Of the first form, what frees the bare ones as well.
  void append_spelt(ExactMatches& out) const {
    for (const ExactMatch& match : matches_) {
      if (frees_bare_form(match.kind)) out.push_back(match);
    }
  }
  void add(const ExactMatches& matches) {
    for (const ExactMatch& match : matches) matches_.push_back(match);
  }

  Overrides::Found& override() { return override_; }

  // True: an override decides, whatever filters say.
  bool decide(Verdict& verdict) const {
    if (!override_.is_decided()) return false;
    note_override(verdict, override_.decisive());
    return true;
  }
  // True: the filter is overruled, and the verdict says by what where nothing stops the address.
  bool overrule(std::size_t filter, Verdict& verdict) const {
    if (const Overrides::Matched* const excepted = override_.overrules(filter)) {
      if (verdict.reason == VerdictReason::unlisted) note_override(verdict, *excepted);
      return true;
    }
    for (const ExactMatch& match : matches_) {
      if (!allow_.overrules(match.value, filter)) continue;
      note(verdict, match.kind, allow_.expression_of(match, parts_, address_));
      return true;
    }
    if (own_entry_ == 0 || !allow_.overrules(own_entry_, filter)) return false;
    note(verdict, Kind::exact_host, text_of(address_));
    return true;
  }

 private:
  static void note(Verdict& verdict, Kind kind, std::string expression) {
    if (verdict.reason != VerdictReason::unlisted) return;
    verdict.reason = VerdictReason::allow_list;
    verdict.kind = kind;
    verdict.expression = std::move(expression);
  }

  const AllowLists& allow_;
  UrlParts& parts_;
  const Address& address_;
  Overrides::Found override_;
  ExactMatches matches_;
  std::uint32_t own_entry_ = 0;  // value of the entry of the address itself
};

Verdict judge_form(const std::vector<LoadedFilter>& filters, const AllowMatches& allowed, const Address& address) {
  Verdict verdict;
  if (allowed.decide(verdict)) return verdict;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const LoadedFilter& filter = filters[i];
    const auto reason = reason_of(filter, address);
    if (!reason || allowed.overrule(i, verdict)) continue;
    const bool blocks = filter.spec.action == FilterAction::block;
    if (!blocks && verdict.decision == Decision::monitored) continue;  // the first monitor is the one reported
    verdict.decision = blocks ? Decision::blocked : Decision::monitored;
    verdict.reason = *reason;
    verdict.filter = &filter.spec;
    verdict.kind = Kind::network;
    verdict.expression = *reason == VerdictReason::filter_lost ? "" : network_of(filter.target(), address);
    if (blocks) break;
  }
  return verdict;
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
    case VerdictReason::excepted:
      return "excepted";
    case VerdictReason::filter_lost:
      return "filter_lost";
    case VerdictReason::denied:
      return "denied";
    case VerdictReason::bad_url:
      return "bad_url";
  }
  return "unknown";
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
  const auto is_paged = [](const LoadedFilter& filter) { return filter.file->residence() == Residence::paged; };
  is_paged_ = std::any_of(impl_->filters.begin(), impl_->filters.end(), is_paged);
  const auto holds = [](const LoadedFilter& filter) { return !filter.exempts() && holds_networks(filter.target()); };
  has_networks_ = std::any_of(impl_->filters.begin(), impl_->filters.end(), holds);
}
Policy::~Policy() = default;

std::shared_ptr<const Policy> Policy::with(std::vector<Override> overrides) const {
  auto impl = std::make_unique<Impl>(*impl_);
  if (!overrides.empty()) {
    std::vector<std::string> names;
    for (const LoadedFilter& filter : impl->filters) names.push_back(filter.spec.name);
    impl->overrides = std::make_unique<const Overrides>(impl->allow.entries().keys(), names, std::move(overrides));
  }
  return std::shared_ptr<const Policy>(new Policy(std::move(impl)));
}

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
std::size_t Policy::overrides() const { return impl_->overrides == nullptr ? 0 : impl_->overrides->size(); }

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

double Policy::false_mark_rate(bool of_monitor) const {
  double sum = 0;
  for (const LoadedFilter& filter : impl_->filters) {
    const FilterAction action = filter.spec.action;
    const bool counts = action == FilterAction::block || (of_monitor && action == FilterAction::monitor);
    if (counts) sum += filter::false_mark_rate(filter.file->header());
  }
  return std::min(sum, 1.0);
}

std::optional<Verdict> Policy::judge_at_once(const CanonicalUrl& url, std::vector<const std::byte*>& absent) const {
  absent.clear();
  PendingVerdict pending(*this, url, Scope::url);
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

Verdict Policy::judge_address(const Address& address, const CanonicalUrl& url, Scope scope) const {
  Verdict worst;
  if (url.action != UrlAction::lookup) {
    worst.decision = Decision::rejected;
    worst.reason = VerdictReason::bad_url;
    return worst;
  }
  const auto stops = [&](const LoadedFilter& filter) { return reason_of(filter, address).has_value(); };
  if (std::none_of(impl_->filters.begin(), impl_->filters.end(), stops)) return worst;
  UrlParts parts(url);
  const std::size_t forms = scope == Scope::url ? url.asked().size() : 1;
  ExactMatches spelt;
  Overrides::Found spelt_override;
  for (std::size_t form = 0; form < forms && worst.decision != Decision::blocked; ++form) {
    if (!url.forms.empty()) parts.use_form(url.asked()[form]);
    AllowMatches allowed(impl_->allow, impl_->overrides.get(), parts, scope, address);
    if (form == 0) {
      allowed.append_spelt(spelt);
      if (impl_->overrides != nullptr && url.bare_forms > 0) {
        UrlHashes hashes(impl_->overrides->keys(), parts);
        impl_->overrides->find(hashes, scope, spelt_override);
      }
    }
    if (form >= url.forms.size()) {
      allowed.add(spelt);
      allowed.override().add_spelt(spelt_override);
    }
    Verdict verdict = judge_form(impl_->filters, allowed, address);
    verdict.form = static_cast<std::uint8_t>(form);
    if (form == 0 || verdict.decision > worst.decision) worst = std::move(verdict);
  }
  return worst;
}

}  // namespace bloomwall::filter
