// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/query.h"

#include "filter/policy/lookup.h"

namespace bloomwall::filter {

std::optional<FilterMatch> FilterQuery::url(const CanonicalUrl& url) const {
  if (url.action != UrlAction::lookup) return std::nullopt;
  UrlParts parts(url);
  UrlHashes hashes(file_.keys(), parts);
  const LookupTarget target = this->target();
  for (const UrlForm& form : url.asked()) {
    parts.use_form(form);
    hashes.forget_form();
    Lookup lookup(target, hashes, Scope::url);
    if (!lookup.start()) {
      while (!lookup.advance()) {
      }
    }
    if (const std::optional<LookupMatch>& match = lookup.match()) {
      return FilterMatch{match->kind, expression_of(target, *match, parts), match->by_delta, match->confirmed};
    }
  }
  return std::nullopt;
}

std::optional<FilterMatch> query_raw(const LookupTarget& target, std::string_view bytes) {
  if (target.delta != nullptr) {
    Entry entry;
    entry.kind = Kind::raw;
    entry.path = bytes;
    const DeltaAnswer answer = target.delta->answer(entry);
    if (answer == DeltaAnswer::added) return FilterMatch{Kind::raw, std::string(bytes), true};
    if (answer == DeltaAnswer::removed) return std::nullopt;
  }
  const FilterFile& file = *target.file;
  const SectionView& section = file.raw();
  if (!section) return std::nullopt;
  const Hash128 key = file.keys().raw(bytes);
  const Place place = section.place(key);
  if (target.checks_reads) file.check_read(section.page_address(place));
  if (!section.test(place)) return std::nullopt;
  if (file.exceptions().of(key) != 0) return std::nullopt;
  const ExactAnswer second =
      target.exact == nullptr ? ExactAnswer::unknown : target.exact->ask_checked(exact_fingerprint(Kind::raw, key));
  if (second == ExactAnswer::refuted) return std::nullopt;
  return FilterMatch{Kind::raw, std::string(bytes), false, second == ExactAnswer::confirmed};
}

LookupTarget FilterQuery::target() const {
  return {.file = &file_, .delta = delta_, .plan = &plan_, .exact = exact_, .checks_reads = file_.checks_reads()};
}

std::optional<FilterMatch> FilterQuery::raw(std::string_view bytes) const { return query_raw(target(), bytes); }

std::optional<Error> FilterQuery::damage() const {
  std::optional<Error> out = file_.damage();
  return out || exact_ == nullptr ? out : exact_->damage();
}

}  // namespace bloomwall::filter
