// One URL (or host) against a whole policy, as a machine that stops wherever it would have to touch pages that may not
// be resident. Policy::judge() is this machine run without stopping.
//   PendingVerdict pending(policy, url, Scope::url, asker);
//   while (!pending.advance()) { ...make pending.pages() resident... }
//   Verdict verdict = pending.take();
// Order: each form by itself; for a form the overrides, the allow lists, then the filters as configured. The first
// lines of up to kGroup filters are asked for together before the first of them is tested. The URL is hashed once for
// each series, as long as there are no more than kGroup of them.
// Borrows policy, URL and asker. Not thread-safe; any number of them may run on one policy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/lazy.h"
#include "filter/policy/lookup.h"
#include "filter/policy/overrides.h"
#include "filter/policy/policy.h"

namespace bloomwall::filter {

struct LoadedFilter;

// Told of everything that is done for a verdict. Filters that an allow entry overrules are asked too then, for the
// story alone.
class VerdictTrace : public LookupTrace {
 public:
  virtual void begin_form(std::size_t form, UrlParts& parts) = 0;
  virtual void overridden_by(const Override& made) = 0;
  virtual void allowed_by(const ExactMatch& entry) = 0;
  virtual void begin_filter(std::size_t filter, bool is_overruled) = 0;
};

class PendingVerdict {
 public:
  PendingVerdict(const Policy& policy, const CanonicalUrl& url, Scope scope, const Asker& asker,
                 VerdictTrace* trace = nullptr);
  PendingVerdict(const PendingVerdict&) = delete;
  PendingVerdict& operator=(const PendingVerdict&) = delete;

  // True when the verdict is there.
  bool advance();
  // First byte of each page that the next advance() reads; not empty after advance() gave false.
  std::span<const std::byte* const> pages() const;
  // Those of them that are not in memory.
  void append_absent(std::vector<const std::byte*>& out) const;
  Verdict take() { return std::move(worst_); }

  static constexpr std::size_t kGroup = 8;

 private:
  struct Slot {
    Lazy<Lookup> lookup;  // none: overruled, or it asks nothing, and nobody watches
    bool is_overruled = false;
    bool asks_nothing = false;
    bool is_done = false;
  };

  void begin_form();
  bool ask_overrides();
  void ask_allow_lists();
  std::size_t next_asked(std::size_t filter) const;
  bool exempts(std::size_t filter) const;
  bool is_let_pass() const { return override_ && override_->is_decided(); }  // by an override; a deny settles the form
  bool is_bare_form() const;
  void carry_to_bare_forms();
  UrlHashes& exact_hashes();
  const ExactMatch* overruled_by(std::size_t filter) const;
  const Overrides::Matched* overridden_by(std::size_t filter) const;
  bool overrule(std::size_t filter);
  void allow(const ExactMatch& entry);
  void begin_group();
  void begin_filter(std::size_t filter, Slot& slot);
  UrlHashes& hashes_for(const LoadedFilter& filter);
  void conclude(const LoadedFilter& filter, const Slot& slot);
  void conclude_unasked(const LoadedFilter& filter);
  void conclude_exempting(const LoadedFilter& filter, const Lookup& lookup);
  void conclude_admitting(const LoadedFilter& filter, const LookupMatch* match);
  void admit(const LoadedFilter& filter, Kind kind, std::string expression);
  void hit(const LoadedFilter& filter, VerdictReason reason, const LookupMatch* match);
  void deny_by_default();
  VerdictReason allowed_urls();
  void end_form();

  struct Marks {                         // of the host, in any filter
    bool any = false, blocking = false;  // blocking: of a filter that blocks
    bool admitting = false;              // of a filter with the action allow
    bool no_decrypt = false;
  };
  struct Admission {
    const LoadedFilter* by = nullptr;  // nullptr: none
    std::string expression;
    Kind kind = Kind::url;
  };

  const Policy::Impl& policy_;
  const CanonicalUrl& url_;
  Scope scope_;
  const Asker& asker_;
  VerdictTrace* trace_;
  UrlParts parts_;
  std::array<Slot, kGroup> slots_;
  std::array<Lazy<UrlHashes>, kGroup> hashes_;  // by LoadedFilter::hash_place
  Lazy<UrlHashes> allow_hashes_;
  Lazy<Overrides::Found> override_;        // of this form; none: no override matches
  Lazy<Overrides::Found> spelt_override_;  // of the first form, which frees the bare ones
  ExactMatches allowed_by_;
  ExactMatches spelt_;  // entries of the first form that free the bare ones
  std::size_t form_ = 0;
  std::size_t group_begin_ = 0, group_end_ = 0;  // filters whose look-ups are under way
  std::size_t filter_ = 0;                       // the one to conclude next
  bool is_done_ = false;
  bool is_admitted_ = false;  // this form: it passes unless a filter blocks it, and Otherwise is not asked
  bool is_settled_ = false;   // this form: only filters that exempt from decryption have still something to say
  Marks marks_;
  std::uint32_t questions_ = 0;
  Admission spelt_admission_;  // of the first form, which the bare ones have, too, as of an allow entry
  Verdict verdict_;            // of this form so far
  Verdict worst_;              // of the forms before
};

}  // namespace bloomwall::filter
