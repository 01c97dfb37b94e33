// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/raw_verdict.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filter/policy/policy_impl.h"
#include "filter/policy/query.h"

namespace bloomwall::filter {
namespace {

VerdictReason reason_of(const FilterMatch& match) {
  if (match.by_delta) return VerdictReason::delta;
  return match.confirmed ? VerdictReason::confirmed : VerdictReason::listed;
}

// What one filter says of a raw key: as PendingVerdict::conclude() for URLs.
class RawKeyVerdict {
 public:
  explicit RawKeyVerdict(Otherwise otherwise) : otherwise_(otherwise) { verdict_.kind = Kind::raw; }

  void ask(const LoadedFilter& filter, std::string_view bytes) {
    std::optional<FilterMatch> match = query_raw(filter.target(), bytes);
    ++verdict_.questions;
    if (filter.file->lost() && !(match && match->by_delta)) {
      if (filter.spec.on_error == OnFilterError::block) return hit(filter, VerdictReason::filter_lost, {});
      is_admitted_ |= filter.admits();
      return;
    }
    if (!match) return;
    if (!filter.admits()) return hit(filter, reason_of(*match), std::move(match->expression));
    is_admitted_ = is_settled_ = true;
    if (verdict_.decision != Decision::monitored)
      note(filter, VerdictReason::allow_filter, std::move(match->expression));
  }

  // Nobody else need be asked.
  bool is_settled() const { return is_settled_; }

  Verdict take() {
    if (otherwise_ == Otherwise::deny && !is_admitted_ && verdict_.decision < Decision::blocked) {
      overtake(verdict_, true);
      verdict_.decision = Decision::blocked;
      verdict_.reason = VerdictReason::default_deny;
      verdict_.filter = &otherwise_spec();
      verdict_.expression.clear();
    }
    return std::move(verdict_);
  }

 private:
  void note(const LoadedFilter& filter, VerdictReason reason, std::string expression) {
    verdict_.reason = reason;
    verdict_.filter = &filter.spec;
    verdict_.expression = std::move(expression);
  }

  void hit(const LoadedFilter& filter, VerdictReason reason, std::string expression) {
    const bool blocks = filter.spec.action == FilterAction::block || filter.admits();
    if (!blocks && verdict_.decision == Decision::monitored) return;  // the first monitor is the one reported
    overtake(verdict_, blocks);
    verdict_.decision = blocks ? Decision::blocked : Decision::monitored;
    note(filter, reason, std::move(expression));
    is_settled_ = blocks;
  }

  Otherwise otherwise_;
  Verdict verdict_;
  bool is_admitted_ = false, is_settled_ = false;
};

// The page that query_raw() would have to wait for; null: none.
const std::byte* absent_page(const LoadedFilter& filter, std::string_view bytes) {
  const SectionView& section = filter.file->raw();
  if (!section || filter.file->lost()) return nullptr;
  if (filter.delta != nullptr) {
    Entry entry;
    entry.kind = Kind::raw;
    entry.path = bytes;
    if (filter.delta->answer(entry) != DeltaAnswer::nothing) return nullptr;
  }
  const Hash128 key = filter.file->keys().raw(bytes);
  const Place place = section.place(key);
  const std::byte* const page = section.page_address(place);
  if (filter.file->may_wait(page)) return page;
  if (filter.exact == nullptr || !section.test(place)) return nullptr;
  const std::byte* const exact = filter.exact->page_of(exact_fingerprint(Kind::raw, key));
  return exact != nullptr && filter.exact->may_wait(exact) ? exact : nullptr;
}

}  // namespace

std::optional<Verdict> raw_key_verdict(const std::vector<LoadedFilter>& filters, Otherwise otherwise,
                                       const RawQuestion& question, std::vector<const std::byte*>* absent) {
  RawKeyVerdict verdict(otherwise);
  for (const LoadedFilter& filter : filters) {
    if (filter.is_off() || filter.exempts()) continue;
    if (!question.filter.empty() && filter.spec.name != question.filter) continue;
    const std::byte* const page = absent == nullptr ? nullptr : absent_page(filter, question.bytes);
    if (page != nullptr) {
      absent->push_back(page);
      return std::nullopt;
    }
    verdict.ask(filter, question.bytes);
    if (verdict.is_settled()) break;
  }
  return verdict.take();
}

}  // namespace bloomwall::filter
