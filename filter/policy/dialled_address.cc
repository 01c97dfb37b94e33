// The networks in filters, asked for an address that is dialled; the rules are those of PendingVerdict, with this one
// question.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "filter/keys/keys.h"
#include "filter/policy/lookup.h"
#include "filter/policy/policy_impl.h"

namespace bloomwall::filter {
namespace {

// Why a filter would stop the address; nothing where it would not.
std::optional<VerdictReason> reason_of(const LoadedFilter& filter, const IpAddress& address) {
  if (filter.exempts() || filter.admits() || filter.is_off()) return std::nullopt;
  const LookupAnswer answer = ask_networks(filter.target(), address);
  // A delta lies in memory: what it adds holds whatever became of the file.
  if (answer == LookupAnswer::added_by_delta) return VerdictReason::delta;
  if (filter.file->lost()) {
    if (filter.spec.on_error == OnFilterError::block) return VerdictReason::filter_lost;
    return std::nullopt;
  }
  return answer == LookupAnswer::yes ? std::optional(VerdictReason::listed) : std::nullopt;
}

// The address as the host of a URL, which entries of it alone ("192.0.2.1") are asked for. Says nothing of a path.
class OwnHost {
 public:
  explicit OwnHost(const IpAddress& address)
      : text_(text_of(address)),
        url_{.action = UrlAction::lookup,
             .reason = UrlReason::none,
             .has_canonical = true,
             .host_kind = kind_of(address),
             .scheme = "http",
             .host = text_},
        parts_(url_) {}
  OwnHost(const OwnHost&) = delete;
  OwnHost& operator=(const OwnHost&) = delete;
  UrlParts& parts() { return parts_; }

 private:
  const std::string text_;
  const CanonicalUrl url_;
  UrlParts parts_;
};

// What overrides and allow lists say of one form of the URL, and of the address. What is said of the URL comes first.
class AllowMatches {
 public:
  AllowMatches(const AllowLists& allow, const Overrides* overrides, UrlParts& parts, Scope scope,
               const IpAddress& address, const Asker& asker)
      : allow_(allow), parts_(parts), address_(address) {
    if (allow.empty() && overrides == nullptr) return;
    UrlHashes hashes(allow.entries().keys(), parts);
    if (overrides != nullptr) {
      OwnHost host(address);
      UrlHashes own_hashes(overrides->keys(), host.parts());
      overrides->find(hashes, scope, asker, override_);
      overrides->find(own_hashes, Scope::host, asker, own_override_);
    }
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

  // True: an override decides, whatever filters say; of those that take no overrides only where it denies.
  bool decide(Verdict& verdict, bool all_take_overrides) const {
    const Overrides::Matched* const decisive = decisive_override();
    if (decisive == nullptr) return false;
    note_override(verdict, *decisive);
    return override_.is_denied() || all_take_overrides;
  }
  // True: the filter is overruled, and the verdict says by what where nothing stops the address.
  bool overrule(std::size_t filter, const FilterSpec& spec, Verdict& verdict) const {
    if (spec.takes_overrides && decisive_override() != nullptr) return true;
    const Overrides::Matched* excepted = override_.overrules(filter);
    if (excepted == nullptr) excepted = own_override_.overrules(filter);
    if (excepted != nullptr) {
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
  // Of the URL, or else one that allows the address. One that denies the address means the URLs that name it.
  const Overrides::Matched* decisive_override() const {
    if (override_.is_decided()) return &override_.decisive();
    return own_override_.is_decided() && !own_override_.is_denied() ? &own_override_.decisive() : nullptr;
  }
  static void note(Verdict& verdict, Kind kind, std::string expression) {
    if (verdict.reason != VerdictReason::unlisted) return;
    verdict.reason = VerdictReason::allow_list;
    verdict.kind = kind;
    verdict.expression = std::move(expression);
  }

  const AllowLists& allow_;
  UrlParts& parts_;
  const IpAddress& address_;
  Overrides::Found override_, own_override_;  // of the form, of the address itself
  ExactMatches matches_;
  std::uint32_t own_entry_ = 0;  // value of the entry of the address itself
};

std::optional<LookupMatch> look_up(const LoadedFilter& filter, UrlParts& parts, Scope scope) {
  UrlHashes hashes(filter.file->keys(), parts);
  Lookup lookup(filter.target(), hashes, scope);
  bool is_done = lookup.start();
  while (!is_done) is_done = lookup.advance();
  return lookup.match();
}

struct Admission {
  LookupMatch match;
  std::string expression;
};

// What a filter with the action allow holds of the address, or of the URL that is dialled there; nothing where neither.
// The URL was judged a moment ago, so that its pages are in memory; those of hosts always are.
std::optional<Admission> admission_of(const LoadedFilter& filter, UrlParts& parts, Scope scope,
                                      const IpAddress& address) {
  const auto counts = [&](const std::optional<LookupMatch>& match) {
    return match && (match->by_delta || !filter.file->lost());
  };
  const LookupAnswer answer = ask_networks(filter.target(), address);
  const bool is_added = answer == LookupAnswer::added_by_delta;
  if (is_added || answer == LookupAnswer::yes) {
    const LookupMatch match{.kind = Kind::network, .by_delta = is_added};
    return counts(match) ? std::optional(Admission{match, network_of(filter.target(), address)}) : std::nullopt;
  }
  if (const auto match = look_up(filter, parts, scope); counts(match)) {
    return Admission{*match, expression_of(filter.target(), *match, parts)};
  }
  OwnHost host(address);
  const auto match = look_up(filter, host.parts(), Scope::host);
  return counts(match) ? std::optional(Admission{*match, text_of(address)}) : std::nullopt;
}

// One form of a URL on its way to an address.
struct FormOfAddress {
  UrlParts& parts;
  Scope scope;
  const IpAddress& address;
  bool is_first, is_bare, all_take_overrides;
  std::optional<std::size_t>& spelt_admitted_by;  // by which filter the first form is admitted, and the bare ones, too
};

bool admits(const LoadedFilter& filter, std::size_t place, const FormOfAddress& form, Verdict& verdict) {
  const auto admission = admission_of(filter, form.parts, form.scope, form.address);
  if (form.is_first && admission && frees_bare_form(admission->match.kind)) form.spelt_admitted_by = place;
  if (!admission && !(form.is_bare && form.spelt_admitted_by == place)) return false;
  if (verdict.decision == Decision::monitored) return true;
  verdict.reason = VerdictReason::allow_filter;
  verdict.exception = 0;
  verdict.filter = &filter.spec;
  verdict.kind = admission ? admission->match.kind : Kind::url;
  if (admission) verdict.expression = admission->expression;
  return true;
}

Verdict judge_form(const std::vector<LoadedFilter>& filters, const AllowMatches& allowed, const FormOfAddress& form) {
  const IpAddress& address = form.address;
  Verdict verdict;
  if (allowed.decide(verdict, form.all_take_overrides)) return verdict;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const LoadedFilter& filter = filters[i];
    if (filter.admits()) {
      if (admits(filter, i, form, verdict)) break;
      continue;
    }
    const auto reason = reason_of(filter, address);
    if (!reason || allowed.overrule(i, filter.spec, verdict)) continue;
    const bool blocks = filter.spec.action == FilterAction::block;
    if (!blocks && verdict.decision == Decision::monitored) continue;  // the first monitor is the one reported
    overtake(verdict, blocks);
    verdict.decision = blocks ? Decision::blocked : Decision::monitored;
    verdict.reason = *reason;
    verdict.exception = 0;
    verdict.filter = &filter.spec;
    verdict.kind = Kind::network;
    verdict.expression = *reason == VerdictReason::filter_lost ? "" : network_of(filter.target(), address);
    if (blocks) break;
  }
  return verdict;
}

}  // namespace

Verdict Policy::judge_address(const IpAddress& address, const CanonicalUrl& url, Scope scope,
                              const Asker& asker) const {
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
  std::optional<std::size_t> spelt_admitted_by;
  for (std::size_t form = 0; form < forms && worst.decision != Decision::blocked; ++form) {
    if (!url.forms.empty()) parts.use_form(url.asked()[form]);
    AllowMatches allowed(impl_->allow, impl_->overrides.get(), parts, scope, address, asker);
    if (form == 0) {
      allowed.append_spelt(spelt);
      if (impl_->overrides != nullptr && url.bare_forms > 0) {
        UrlHashes hashes(impl_->overrides->keys(), parts);
        impl_->overrides->find(hashes, scope, asker, spelt_override);
      }
    }
    if (url.is_bare(form)) {
      allowed.add(spelt);
      allowed.override().add_spelt(spelt_override);
    }
    Verdict verdict = judge_form(impl_->filters, allowed,
                                 {.parts = parts,
                                  .scope = scope,
                                  .address = address,
                                  .is_first = form == 0,
                                  .is_bare = url.is_bare(form),
                                  .all_take_overrides = !impl_->any_refuses_overrides,
                                  .spelt_admitted_by = spelt_admitted_by});
    verdict.form = static_cast<std::uint8_t>(form);
    if (form == 0 || verdict.decision > worst.decision) worst = std::move(verdict);
  }
  return worst;
}

}  // namespace bloomwall::filter
