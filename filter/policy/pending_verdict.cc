// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/pending_verdict.h"

#include <algorithm>

#include "filter/policy/policy_impl.h"

namespace bloomwall::filter {
namespace {

VerdictReason reason_without_match(const Lookup& lookup) {
  if (lookup.is_refuted()) return VerdictReason::refuted;
  return lookup.is_excepted() ? VerdictReason::exception : VerdictReason::unlisted;
}

bool is_open(VerdictReason reason) {
  return reason == VerdictReason::unlisted || reason == VerdictReason::exception || reason == VerdictReason::refuted;
}

}  // namespace

PendingVerdict::PendingVerdict(const Policy& policy, const CanonicalUrl& url, Scope scope, const Asker& asker,
                               VerdictTrace* trace)
    : policy_(*policy.impl_), url_(url), scope_(scope), asker_(asker), trace_(trace), parts_(url) {
  if (url.action == UrlAction::lookup) {
    begin_form();
    return;
  }
  worst_.decision = Decision::rejected;
  worst_.reason = VerdictReason::bad_url;
  is_done_ = true;
}

bool PendingVerdict::advance() {
  while (!is_done_) {
    if (filter_ == policy_.filters.size()) {
      end_form();
      continue;
    }
    if (filter_ == group_end_) begin_group();
    Slot& slot = slots_[filter_ - group_begin_];
    if (slot.lookup && !slot.is_done) {
      slot.is_done = slot.lookup->advance();
      if (!slot.is_done && !slot.lookup->pending_pages().empty()) return false;
      continue;
    }
    conclude(policy_.filters[filter_], slot);
    filter_ = is_settled_ ? next_asked(filter_ + 1) : filter_ + 1;
    group_end_ = std::max(group_end_, filter_);
  }
  return true;
}

std::span<const std::byte* const> PendingVerdict::pages() const {
  if (is_done_ || filter_ >= group_end_) return {};
  const Slot& slot = slots_[filter_ - group_begin_];
  return slot.lookup ? slot.lookup->pending_pages() : std::span<const std::byte* const>{};
}

void PendingVerdict::append_absent(std::vector<const std::byte*>& out) const {
  for (const std::byte* page : pages()) {
    const LoadedFilter& filter = policy_.filters[filter_];
    const bool is_exact = filter.exact && filter.exact->holds(page);
    if (is_exact ? filter.exact->may_wait(page) : filter.file->may_wait(page)) out.push_back(page);
  }
}

void PendingVerdict::begin_form() {
  if (!url_.forms.empty()) parts_.use_form(url_.asked()[form_]);
  for (Lazy<UrlHashes>& made : hashes_) {
    if (made) made->forget_form();
  }
  if (allow_hashes_) allow_hashes_->forget_form();
  group_begin_ = group_end_ = filter_ = 0;
  is_settled_ = is_admitted_ = false;
  if (trace_ != nullptr) trace_->begin_form(form_, parts_);
  if (policy_.overrides != nullptr && scope_ == Scope::host &&
      policy_.overrides->denies_urls_on(exact_hashes(), asker_)) {
    marks_.any = marks_.blocking = true;
  }
  if (policy_.overrides != nullptr && ask_overrides()) {
    is_settled_ = true;
  } else if (!policy_.allow.empty()) {
    ask_allow_lists();
  }
  if (is_settled_) filter_ = group_end_ = next_asked(0);
}

bool PendingVerdict::exempts(std::size_t filter) const {
  return policy_.any_exempts && policy_.filters[filter].exempts();
}

bool PendingVerdict::is_bare_form() const { return url_.bare_forms > 0 && url_.is_bare(form_); }

// Of a settled form: the first filter from this one on that exempts hosts from decryption. A host that is blocked or
// allowed may be exempt all the same.
std::size_t PendingVerdict::next_asked(std::size_t filter) const {
  if (scope_ == Scope::url || !policy_.any_exempts) return policy_.filters.size();
  while (filter < policy_.filters.size() && !policy_.filters[filter].exempts()) ++filter;
  return filter;
}

UrlHashes& PendingVerdict::exact_hashes() {
  if (!allow_hashes_) allow_hashes_.emplace(policy_.allow.entries().keys(), parts_);
  return *allow_hashes_;
}

// True: the form is decided, and nobody else is asked. Not where it is let pass and some filter takes no overrides.
bool PendingVerdict::ask_overrides() {
  if (!override_) override_.emplace();
  policy_.overrides->find(exact_hashes(), scope_, asker_, *override_);
  if (url_.bare_forms > 0 && form_ == 0) {
    policy_.overrides->find(exact_hashes(), scope_, asker_, spelt_override_.emplace());
  }
  if (spelt_override_ && url_.is_bare(form_)) override_->add_spelt(*spelt_override_);
  if (override_->empty()) override_.reset();  // filters need not be compared with it
  if (!override_ || !override_->is_decided()) return false;
  if (trace_ != nullptr) trace_->overridden_by(*override_->decisive().made);
  note_override(verdict_, override_->decisive());
  is_admitted_ = !override_->is_denied();
  return override_->is_denied() || !policy_.any_refuses_overrides;
}

void PendingVerdict::ask_allow_lists() {
  allowed_by_.clear();
  policy_.allow.entries().find_matches(exact_hashes(), scope_, allowed_by_);
  if (policy_.allow.has_networks() && parts_.address() != nullptr)
    policy_.allow.find_networks(*parts_.address(), allowed_by_);
  const std::size_t of_this_form = allowed_by_.size();
  carry_to_bare_forms();
  bool is_overruled = false;
  for (const ExactMatch& entry : allowed_by_) {
    if (trace_ != nullptr && &entry < allowed_by_.begin() + of_this_form) trace_->allowed_by(entry);
    if (is_overruled || !policy_.allow.overrules_all(entry.value)) continue;
    is_overruled = true;
    allow(entry);
  }
  // With a trace, filters are asked all the same, and what they say is told but not taken.
  is_admitted_ |= is_overruled;
  is_settled_ = is_overruled && trace_ == nullptr;
}

// The bare forms are the first one's, and come last.
void PendingVerdict::carry_to_bare_forms() {
  if (url_.bare_forms == 0) return;
  if (form_ == 0) {
    for (const ExactMatch& entry : allowed_by_) {
      if (frees_bare_form(entry.kind)) spelt_.push_back(entry);
    }
  } else if (url_.is_bare(form_)) {
    for (const ExactMatch& entry : spelt_) allowed_by_.push_back(entry);
  }
}

const ExactMatch* PendingVerdict::overruled_by(std::size_t filter) const {
  const bool only_by_name = exempts(filter);  // an entry for every filter is about blocking
  const bool never_by_name = policy_.filters[filter].admits();
  for (const ExactMatch& entry : allowed_by_) {
    if (policy_.allow.overrules_all(entry.value) ? only_by_name : never_by_name) continue;
    if (policy_.allow.overrules(entry.value, filter)) return &entry;
  }
  return nullptr;
}

// Stands unless a filter that is not overruled says otherwise.
void PendingVerdict::allow(const ExactMatch& entry) {
  if (!is_open(verdict_.reason)) return;
  verdict_.reason = VerdictReason::allow_list;
  verdict_.kind = entry.kind;
  verdict_.expression = policy_.allow.expression_of(entry, parts_);
}

void PendingVerdict::begin_group() {
  // A story is told filter by filter; otherwise as many first lines as possible are under way at once.
  const std::size_t size = trace_ != nullptr ? 1 : kGroup;
  group_begin_ = filter_;
  group_end_ = std::min(filter_ + size, policy_.filters.size());
  for (std::size_t i = group_begin_; i < group_end_; ++i) begin_filter(i, slots_[i - group_begin_]);
}

// The override that speaks against this filter; null: none.
const Overrides::Matched* PendingVerdict::overridden_by(std::size_t filter) const {
  const LoadedFilter& loaded = policy_.filters[filter];
  if (!override_ || loaded.admits() || !loaded.spec.takes_overrides) return nullptr;
  if (const auto* const narrow = override_->overrules(filter)) return narrow;
  return override_->is_decided() && !exempts(filter) ? &override_->decisive() : nullptr;
}

// By an override, or by an allow entry.
bool PendingVerdict::overrule(std::size_t filter) {
  if (const auto* const excepted = overridden_by(filter)) {
    const bool is_told = excepted == &override_->decisive();
    if (trace_ != nullptr && !is_told) trace_->overridden_by(*excepted->made);
    if (is_open(verdict_.reason) && !exempts(filter)) note_override(verdict_, *excepted);
    return true;
  }
  const ExactMatch* const allow_entry = overruled_by(filter);
  if (allow_entry != nullptr && !exempts(filter)) allow(*allow_entry);
  return allow_entry != nullptr;
}

void PendingVerdict::begin_filter(std::size_t filter, Slot& slot) {
  slot.lookup.reset();
  slot.is_done = slot.is_overruled = slot.asks_nothing = false;
  if (policy_.filters[filter].is_off()) return;
  if (is_settled_ ? !exempts(filter) : scope_ == Scope::url && exempts(filter)) return;
  slot.is_overruled = overrule(filter);
  if (slot.is_overruled && trace_ == nullptr) return;
  if (trace_ != nullptr) trace_->begin_filter(filter, slot.is_overruled);
  const LoadedFilter& loaded = policy_.filters[filter];
  slot.asks_nothing = trace_ == nullptr && asks_nothing(loaded.target(), parts_);
  if (slot.asks_nothing) return;
  slot.is_done = slot.lookup.emplace(loaded.target(), hashes_for(loaded), scope_, trace_).start();
}

// No look-up of this group has another series' hashes in that place.
UrlHashes& PendingVerdict::hashes_for(const LoadedFilter& filter) {
  const KeyMaker& keys = filter.file->keys();
  const auto fits = [&](const Lazy<UrlHashes>& made) { return made && made->keys().seed() == keys.seed(); };
  if (fits(allow_hashes_)) return *allow_hashes_;
  Lazy<UrlHashes>& own = hashes_[filter.hash_place];
  return fits(own) ? *own : own.emplace(keys, parts_);
}

void PendingVerdict::conclude_exempting(const LoadedFilter& filter, const Lookup& lookup) {
  const std::optional<LookupMatch>& match = lookup.match();
  marks_.no_decrypt |= match && (match->by_delta || !filter.file->lost());
}

// What a white list holds needs no proof: neither marks nor exceptions of its bits matter.
void PendingVerdict::conclude_admitting(const LoadedFilter& filter, const LookupMatch* match) {
  if (filter.file->lost() && (match == nullptr || !match->by_delta)) {
    if (filter.spec.on_error == OnFilterError::block && !is_let_pass()) {
      return hit(filter, VerdictReason::filter_lost, nullptr);
    }
    is_admitted_ = true;
    return;
  }
  if (match != nullptr) {
    admit(filter, match->kind, expression_of(filter.target(), *match, parts_));
  } else if (spelt_admission_.by == &filter && is_bare_form()) {
    admit(filter, spelt_admission_.kind, spelt_admission_.expression);
  }
}

// What monitors it stays reported.
void PendingVerdict::admit(const LoadedFilter& filter, Kind kind, std::string expression) {
  is_settled_ = is_admitted_ = true;
  if (form_ == 0 && frees_bare_form(kind)) {
    spelt_admission_.by = &filter;
    spelt_admission_.expression = expression;
    spelt_admission_.kind = kind;
  }
  if (verdict_.decision == Decision::monitored) return;
  verdict_.reason = VerdictReason::allow_filter;
  verdict_.exception = 0;
  verdict_.filter = &filter.spec;
  verdict_.kind = kind;
  verdict_.expression = std::move(expression);
}

// As a look-up that finds nothing. Where the file failed under us, that is still to be said.
void PendingVerdict::conclude_unasked(const LoadedFilter& filter) {
  if (filter.exempts()) return;
  if (filter.admits()) return conclude_admitting(filter, nullptr);
  const bool is_blocking = filter.spec.on_error == OnFilterError::block;
  if (is_blocking && filter.file->lost()) hit(filter, VerdictReason::filter_lost, nullptr);
}

void PendingVerdict::conclude(const LoadedFilter& filter, const Slot& slot) {
  if (slot.is_overruled) return;
  if (slot.asks_nothing) return conclude_unasked(filter);
  if (!slot.lookup) return;
  const Lookup& lookup = *slot.lookup;
  questions_ += lookup.questions();
  if (policy_.any_exempts && filter.exempts()) return conclude_exempting(filter, lookup);
  if (filter.admits()) {
    marks_.admitting |= scope_ == Scope::host && lookup.host_has_marks();
    return conclude_admitting(filter, lookup.match() ? &*lookup.match() : nullptr);
  }
  if (scope_ == Scope::host && lookup.host_has_marks()) {
    marks_.any = true;
    marks_.blocking |= filter.spec.action == FilterAction::block;
  }
  const std::optional<LookupMatch>& found = lookup.match();
  const LookupMatch* const match = found ? &*found : nullptr;
  // A delta lies in memory: what it adds holds whatever became of the file.
  if (match != nullptr && match->by_delta) return hit(filter, VerdictReason::delta, match);
  // Asked after the bits: what was read from a file that failed meanwhile means nothing.
  if (filter.file->lost()) {
    if (filter.spec.on_error == OnFilterError::block) hit(filter, VerdictReason::filter_lost, nullptr);
    return;
  }
  if (match == nullptr) {
    if (verdict_.reason == VerdictReason::unlisted) verdict_.reason = reason_without_match(lookup);
    return;
  }
  hit(filter, match->confirmed ? VerdictReason::confirmed : VerdictReason::listed, match);
}

// What blocks settles the form: no further filter is asked whether it blocks. So does a white list that is lost.
void PendingVerdict::hit(const LoadedFilter& filter, VerdictReason reason, const LookupMatch* match) {
  const bool blocks = filter.spec.action == FilterAction::block || filter.admits();
  if (!blocks && verdict_.decision == Decision::monitored) return;  // the first monitor is the one reported
  overtake(verdict_, blocks);
  verdict_.decision = blocks ? Decision::blocked : Decision::monitored;
  verdict_.reason = reason;
  verdict_.exception = 0;
  verdict_.filter = &filter.spec;
  verdict_.kind = match != nullptr ? match->kind : Kind::suffix;
  verdict_.expression = match != nullptr ? expression_of(filter.target(), *match, parts_) : std::string();
  is_settled_ = blocks;
}

void PendingVerdict::deny_by_default() {
  overtake(verdict_, true);
  verdict_.decision = Decision::blocked;
  verdict_.reason = VerdictReason::default_deny;
  verdict_.filter = &otherwise_spec();
  verdict_.expression.clear();
}

// Of a host that is blocked: what lets URLs on it pass. A deny of the host leaves those that people allow; what a
// filter blocks, or Otherwise, leaves more.
VerdictReason PendingVerdict::allowed_urls() {
  std::size_t blocker = Overrides::kNoFilter;
  for (std::size_t i = 0; i < policy_.filters.size(); ++i) {
    if (&policy_.filters[i].spec == worst_.filter) blocker = i;
  }
  const bool is_denied = worst_.reason == VerdictReason::denied;
  const bool takes_overrides = blocker == Overrides::kNoFilter || policy_.filters[blocker].spec.takes_overrides;
  const Overrides::Matched* const denied = is_denied ? &override_->decisive() : nullptr;
  if (policy_.overrides != nullptr && takes_overrides &&
      policy_.overrides->allows_urls_on(exact_hashes(), asker_, denied, blocker)) {
    return VerdictReason::excepted;
  }
  if (is_denied) return VerdictReason::unlisted;
  if (marks_.admitting) return VerdictReason::allow_filter;
  ExactMatches hosts;
  policy_.allow.find_hosts_of_urls(exact_hashes(), hosts);
  const bool is_overruled = std::any_of(hosts.begin(), hosts.end(), [&](const ExactMatch& host) {
    return policy_.allow.overrules_all(host.value) ||
           (blocker != Overrides::kNoFilter && policy_.allow.overrules(host.value, blocker));
  });
  return is_overruled ? VerdictReason::allow_list : VerdictReason::unlisted;
}

void PendingVerdict::end_form() {
  const bool is_left = !is_admitted_ && verdict_.decision < Decision::blocked;
  if (is_left && policy_.otherwise == Otherwise::deny) deny_by_default();
  verdict_.form = static_cast<std::uint8_t>(form_);
  if (form_ == 0 || verdict_.decision > worst_.decision) {
    overtake(worst_, verdict_.decision == Decision::blocked);
    if (verdict_.overtaken.empty()) verdict_.overtaken = std::move(worst_.overtaken);
    worst_ = std::move(verdict_);
  }
  ++form_;
  if (scope_ == Scope::url && form_ < url_.asked().size() && worst_.decision != Decision::blocked) {
    verdict_ = Verdict{};
    begin_form();
    return;
  }
  worst_.questions = questions_;
  worst_.host_has_marks = marks_.any;
  worst_.host_has_blocking_marks = marks_.blocking;
  worst_.no_decrypt = marks_.no_decrypt;
  if (scope_ == Scope::host && worst_.decision == Decision::blocked) worst_.allowed_urls = allowed_urls();
  is_done_ = true;
}

}  // namespace bloomwall::filter
