// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/lookup.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

namespace bloomwall::filter {
namespace {

constexpr std::uint32_t kDeepMarkBit = variant_bit(directory_mark(kDeepestMark));

// Questions about one suffix come in this order; ExactSet gives its matches in the same.
int rank_of(Kind kind) { return kind == Kind::url ? 1 : kind == Kind::url_query ? 2 : kind == Kind::directory ? 3 : 0; }

// The bits that are set. std::popcount is a call where the processor may be one without such an instruction.
constexpr std::uint32_t count_of(std::uint32_t bits) {
  bits -= (bits >> 1) & 0x55555555U;
  bits = (bits & 0x33333333U) + ((bits >> 2) & 0x33333333U);
  return (((bits + (bits >> 4)) & 0x0f0f0f0fU) * 0x01010101U) >> 24;
}
static_assert(count_of(0) == 0 && count_of(kMarkBits | kHostKindBits) == kHostVariantCount && count_of(~0U) == 32);

// The kind or mark that a variant of a host asks for.
Question question_of(Variant variant, std::uint16_t suffix) {
  switch (variant) {
    case kVariantSuffix:
      return {Kind::suffix, false, suffix, 0};
    case kVariantExactHost:
      return {Kind::exact_host, false, suffix, 0};
    case kVariantSubdomains:
      return {Kind::subdomains, false, suffix, 0};
    case kVariantMarkUrl:
      return {Kind::url, true, suffix, 0};
    case kVariantMarkQuery:
      return {Kind::url_query, true, suffix, 0};
    default:
      return {Kind::directory, true, suffix, variant - kVariantMarkDirectory1 + 1};
  }
}

}  // namespace

LookupAnswer ask_networks(const LookupTarget& target, const IpAddress& address) {
  if (target.delta != nullptr) {
    if (target.delta->added_networks().find(address)) return LookupAnswer::added_by_delta;
    if (target.delta->removed_networks().find(address)) return LookupAnswer::removed_by_delta;
  }
  return target.file->networks().find(address) ? LookupAnswer::yes : LookupAnswer::no;
}

std::string network_of(const LookupTarget& target, const IpAddress& address) {
  std::optional<AddressRange> range;
  if (target.delta != nullptr) range = target.delta->added_networks().find(address);
  if (!range) range = target.file->networks().find(address);
  return range ? text_of(*range) : text_of(address);
}

bool holds_networks(const LookupTarget& target) {
  if (!target.file->networks().empty()) return true;
  return target.delta != nullptr && !target.delta->added_networks().empty();
}

Lookup::Lookup(const LookupTarget& target, UrlHashes& url, Scope scope, LookupTrace* trace)
    : target_(target), url_(url), trace_(trace), scope_(scope) {}

bool Lookup::start() {
  if (target_.delta != nullptr && ask_delta()) return true;
  if (url_.parts().is_address() && holds_networks(target_)) {
    const IpAddress* const address = url_.parts().address();
    if (address != nullptr && ask_networks_of(*address)) return true;
  }
  const FilterPlan& plan = *target_.plan;
  const UrlParts& parts = url_.parts();
  if (parts.is_address()) {
    last_suffix_ = 1;
  } else {
    const std::size_t labels = parts.suffixes();
    next_suffix_ = labels - std::min(labels, plan.max_labels);
    last_suffix_ = labels + 1 > plan.min_labels ? std::min(labels, labels + 1 - plan.min_labels) : 0;
  }
  return plan_hosts();
}

bool Lookup::advance() {
  if (!candidates_.empty()) {
    if (confirm()) return true;
  } else if (asking_hosts_ ? evaluate_hosts() : evaluate_paths()) {
    return true;
  } else if (!candidates_.empty()) {
    return plan_confirmation();
  }
  return asking_hosts_ ? plan_hosts() : plan_paths();
}

bool Lookup::ask_delta() {
  const ExactSet& entries = target_.delta->entries();
  entries.find_matches(url_, scope_, removed_);
  for (const ExactMatch& found : removed_) {
    const bool added = static_cast<DeltaAnswer>(found.value) == DeltaAnswer::added;
    tell({found.kind, false, found.suffix, found.depth},
         added ? LookupAnswer::added_by_delta : LookupAnswer::removed_by_delta);
    if (!added) continue;
    match_ = {.kind = found.kind, .suffix = found.suffix, .depth = found.depth, .by_delta = true};
    return true;
  }
  if (scope_ == Scope::url) return false;
  const std::optional<ExactSet::PathMark> mark = entries.path_mark(url_);
  host_has_marks_ = mark && may_announce(mark->suffix);
  if (host_has_marks_) tell({mark->kind, true, mark->suffix, mark->depth}, LookupAnswer::added_by_delta);
  return false;
}

// Ranges are exact: neither exceptions nor the exact side have a word to say.
bool Lookup::ask_networks_of(const IpAddress& address) {
  const LookupAnswer answer = ask_networks(target_, address);
  tell({.kind = Kind::network}, answer);
  const bool by_delta = answer == LookupAnswer::added_by_delta;
  if (!by_delta && answer != LookupAnswer::yes) return false;
  match_ = {.kind = Kind::network, .by_delta = by_delta};
  return true;
}

std::uint32_t Lookup::wanted_of(std::size_t suffix) const {
  const FilterPlan& plan = *target_.plan;
  return url_.parts().is_address() ? plan.address : suffix == 0 ? plan.whole : plan.parent;
}

std::uint32_t Lookup::without_removed(std::size_t suffix, std::uint32_t wanted) {
  for (; removed_host_ < removed_.size() && removed_[removed_host_].suffix <= suffix; ++removed_host_) {
    const ExactMatch& removed = removed_[removed_host_];
    if (removed.suffix == suffix && is_host_kind(removed.kind)) wanted &= ~variant_bit(host_variant(removed.kind));
  }
  return wanted;
}

// True: there is nothing left to ask.
bool Lookup::plan_hosts() {
  hosts_.clear();
  const SectionView& section = target_.file->hosts();
  for (; next_suffix_ < last_suffix_ && hosts_.size() < kHostRound; ++next_suffix_) {
    const std::uint32_t wanted = without_removed(next_suffix_, wanted_of(next_suffix_));
    if (wanted == 0) continue;
    const Place place = section.place(url_.host(next_suffix_));
    section.prefetch(place);
    hosts_.push_back({place, wanted, static_cast<std::uint16_t>(next_suffix_)});
  }
  if (!hosts_.empty()) return false;
  asking_hosts_ = false;
  return scope_ == Scope::host || marked_.empty() || plan_paths();
}

bool Lookup::evaluate_hosts() {
  if (target_.checks_reads) check_reads();
  for (const HostQuestion& asked : hosts_) {
    const std::uint32_t hits = target_.file->hosts().test_variants(asked.place, asked.wanted);
    questions_ += count_of(asked.wanted);
    const std::uint32_t excepted = exceptions_of(asked, hits);
    is_excepted_ |= excepted != 0;
    if (trace_ != nullptr) tell_hosts(asked, hits, excepted);
    if (hits != excepted && take_hits(asked, hits & ~excepted)) return true;
  }
  return false;
}

// Variants of this host that tested positive and are known to be good.
std::uint32_t Lookup::exceptions_of(const HostQuestion& asked, std::uint32_t hits) {
  const Exceptions& exceptions = target_.file->exceptions();
  if ((hits & kHostKindBits) == 0 || exceptions.empty()) return 0;
  const KindMask kinds = exceptions.of(url_.host(asked.suffix));
  std::uint32_t out = 0;
  for (const Kind kind : {Kind::suffix, Kind::exact_host, Kind::subdomains}) {
    if ((kinds & kind_bit(kind)) != 0) out |= variant_bit(host_variant(kind));
  }
  return out & hits;
}

bool Lookup::take_hits(const HostQuestion& asked, std::uint32_t hits) {
  for (std::uint32_t rest = hits & kHostKindBits; rest != 0; rest &= rest - 1) {
    const Question question = question_of(static_cast<Variant>(std::countr_zero(rest)), asked.suffix);
    if (take_hit(question, url_.host(asked.suffix))) return true;
  }
  if ((hits & kMarkBits) == 0) return false;
  host_has_marks_ |= may_announce(asked.suffix);
  marked_.push_back({asked.suffix, hits & kMarkBits});
  return false;
}

// A mark on the last label would concern a whole top-level domain, and is hardly ever a true one: where a list has one
// host of one label, every request's last label is asked.
bool Lookup::may_announce(std::size_t suffix) const { return suffix == 0 || url_.parts().labels(suffix) > 1; }

// True: that is the answer. With an exact side it waits for confirmation.
bool Lookup::take_hit(const Question& question, const Hash128& key) {
  if (target_.exact != nullptr) {
    candidates_.push_back({question, exact_fingerprint(question.kind, key)});
    return false;
  }
  match_ = {.kind = question.kind, .suffix = question.suffix, .depth = question.depth};
  return true;
}

// Always false: the pages may have to be awaited.
bool Lookup::plan_confirmation() {
  hosts_.clear();
  paths_.clear();
  pages_.clear();
  for (const Candidate& candidate : candidates_) {
    if (const std::byte* const page = target_.exact->page_of(candidate.fingerprint)) pages_.push_back(page);
  }
  return false;
}

bool Lookup::confirm() {
  pages_.clear();
  for (const Candidate& candidate : candidates_) {
    const ExactAnswer answer = target_.checks_reads ? target_.exact->ask_checked(candidate.fingerprint)
                                                    : target_.exact->ask(candidate.fingerprint);
    const Question& question = candidate.question;
    if (answer == ExactAnswer::refuted) {
      is_refuted_ = true;
      tell(question, LookupAnswer::refuted);
      continue;
    }
    // Where nothing can be said the bits have the last word.
    const bool confirmed = answer == ExactAnswer::confirmed;
    tell(question, confirmed ? LookupAnswer::confirmed : LookupAnswer::yes);
    match_ = {.kind = question.kind, .suffix = question.suffix, .depth = question.depth, .confirmed = confirmed};
    candidates_.clear();
    return true;
  }
  candidates_.clear();
  return false;
}

bool Lookup::plan_paths() {
  paths_.clear();
  pages_.clear();
  const SectionView& section = target_.file->paths();
  Question question;
  while (paths_.size() < kPathRound && next_question(question)) {
    if (is_removed(question)) continue;
    const Place place = section.place(key_of(question));
    section.prefetch(place);
    paths_.push_back({place, question});
    pages_.push_back(section.page_address(place));
  }
  return paths_.empty();
}

bool Lookup::evaluate_paths() {
  if (target_.checks_reads) check_reads();
  for (const PathQuestion& asked : paths_) {
    const bool hit = target_.file->paths().test(asked.place);
    ++questions_;
    if (!hit) {
      tell(asked.question, LookupAnswer::no);
    } else if (is_exception(asked.question)) {
      is_excepted_ = true;
      tell(asked.question, LookupAnswer::exception);
    } else {
      if (target_.exact == nullptr) tell(asked.question, LookupAnswer::yes);
      if (take_hit(asked.question, key_of(asked.question))) return true;
    }
  }
  return false;
}

bool Lookup::is_exception(const Question& question) {
  const Exceptions& exceptions = target_.file->exceptions();
  return !exceptions.empty() && (exceptions.of(key_of(question)) & kind_bit(question.kind)) != 0;
}

// Walks over the marked suffixes; on each, step 0 is U, step 1 is Q, step 1 + d is D at depth d.
bool Lookup::next_question(Question& question) {
  for (; next_marked_ < marked_.size(); ++next_marked_, next_step_ = 0) {
    const Marked& at = marked_[next_marked_];
    const auto depth = static_cast<std::uint32_t>(url_.parts().depth());
    const bool deep = (at.marks & kDeepMarkBit) != 0;
    const std::size_t deepest =
        std::min<std::size_t>({depth, target_.plan->max_depth, deep ? depth : kDeepestMark - 1});
    while (next_step_ <= 1 + deepest) {
      const std::size_t step = next_step_++;
      if (step == 0 && (at.marks & variant_bit(kVariantMarkUrl)) != 0) {
        question = {Kind::url, false, at.suffix, depth};
        return true;
      }
      if (step == 1 && (at.marks & variant_bit(kVariantMarkQuery)) != 0 && !url_.parts().query().empty()) {
        question = {Kind::url_query, false, at.suffix, depth};
        return true;
      }
      const auto d = static_cast<std::uint32_t>(step - 1);
      if (step >= 2 && (at.marks & variant_bit(directory_mark(d))) != 0) {
        question = {Kind::directory, false, at.suffix, d};
        return true;
      }
    }
  }
  return false;
}

bool Lookup::is_removed(const Question& question) {
  const auto order = [](std::uint16_t suffix, Kind kind, std::uint32_t depth) {
    return std::make_tuple(suffix, rank_of(kind), depth);
  };
  const auto asked = order(question.suffix, question.kind, question.depth);
  for (; removed_path_ < removed_.size(); ++removed_path_) {
    const ExactMatch& removed = removed_[removed_path_];
    const auto at = order(removed.suffix, removed.kind, removed.depth);
    if (at == asked) return true;
    if (asked < at) break;
  }
  return false;
}

Hash128 Lookup::key_of(const Question& question) {
  const KeyMaker& keys = url_.keys();
  const Hash128& host = url_.host(question.suffix);
  const Hash128& path = url_.path(question.depth);
  if (question.kind == Kind::url) return keys.url(host, path);
  if (question.kind == Kind::directory) return keys.directory(host, path);
  return keys.url_query(host, path, url_.query(target_.file->keys().queries()));
}

// Of the pages that are about to be asked.
void Lookup::check_reads() const {
  const FilterFile& file = *target_.file;
  for (const HostQuestion& asked : hosts_) file.check_read(file.hosts().page_address(asked.place));
  for (const PathQuestion& asked : paths_) file.check_read(file.paths().page_address(asked.place));
}

void Lookup::tell(const Question& question, LookupAnswer answer) {
  if (trace_ != nullptr) trace_->asked(question, answer);
}

// What waits for confirmation is told with it.
void Lookup::tell_hosts(const HostQuestion& asked, std::uint32_t hits, std::uint32_t excepted) {
  for (std::uint32_t rest = asked.wanted; rest != 0; rest &= rest - 1) {
    const auto variant = static_cast<Variant>(std::countr_zero(rest));
    const std::uint32_t bit = variant_bit(variant);
    const Question question = question_of(variant, asked.suffix);
    if ((hits & bit) == 0) {
      tell(question, LookupAnswer::no);
    } else if ((excepted & bit) != 0) {
      tell(question, LookupAnswer::exception);
    } else if (question.is_mark || target_.exact == nullptr) {
      tell(question, LookupAnswer::yes);
    }
  }
}

std::string expression_of(Kind kind, std::size_t suffix, std::size_t depth, UrlParts& parts) {
  std::string text(parts.suffix(suffix));
  if (is_host_kind(kind) || kind == Kind::network) return text;
  text += parts.prefix(depth);
  if (kind == Kind::directory || depth == 0) text += '/';
  if (kind == Kind::url_query) text.append("?").append(parts.query());
  return text;
}

std::string expression_of(const LookupTarget& target, const LookupMatch& match, UrlParts& parts) {
  const bool is_network = match.kind == Kind::network && parts.address() != nullptr;
  return is_network ? network_of(target, *parts.address())
                    : expression_of(match.kind, match.suffix, match.depth, parts);
}

std::string text_of(const Question& question, UrlParts& parts) {
  std::string text;
  if (question.is_mark) text += "mark ";
  text += static_cast<char>(question.kind);
  if (question.is_mark) {
    if (question.kind == Kind::directory) text += std::to_string(question.depth);
    if (question.kind == Kind::directory && question.depth == kDeepestMark) text += '+';
    return text.append(" ").append(parts.suffix(question.suffix));
  }
  return text.append(" ").append(expression_of(question.kind, question.suffix, question.depth, parts));
}

FilterPlan::FilterPlan(const FilterFile& file) {
  const Header& header = file.header();
  const auto counts = [&](Kind kind) -> const KindCounts& { return header.kinds[index_of(kind)]; };
  const auto bit_if_any = [&](Kind kind) {
    const bool any = counts(kind).entries != 0 || counts(kind).keys != 0;
    return any ? variant_bit(host_variant(kind)) : 0;
  };
  if (!file.hosts()) return;
  const std::uint32_t marks = file.paths() ? header.mark_mask & kMarkBits : 0;
  whole = bit_if_any(Kind::suffix) | bit_if_any(Kind::exact_host) | marks;
  parent = bit_if_any(Kind::suffix) | bit_if_any(Kind::subdomains) | marks;
  address = bit_if_any(Kind::exact_host) | marks;
  min_labels = header.min_labels;
  max_labels = header.max_labels == 0 ? std::numeric_limits<std::size_t>::max() : header.max_labels;
  // 65535 stands for that depth and any beyond it.
  constexpr auto kCapped = std::numeric_limits<std::uint16_t>::max();
  max_depth = header.max_depth == kCapped ? std::numeric_limits<std::size_t>::max() : header.max_depth;
}

}  // namespace bloomwall::filter
