// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/query.h"

#include "filter/policy/lookup.h"

namespace bloomwall::filter {

std::optional<FilterMatch> FilterQuery::url(const CanonicalUrl& url) const {
  if (url.action != UrlAction::lookup) return std::nullopt;
  UrlParts parts(url);
  UrlHashes hashes(file_.keys(), parts);
  const LookupTarget target{
      .file = &file_, .delta = delta_, .plan = &plan_, .exact = exact_, .checks_reads = file_.checks_reads()};
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

std::optional<FilterMatch> FilterQuery::raw(std::string_view bytes) const {
  if (delta_ != nullptr) {
    Entry entry;
    entry.kind = Kind::raw;
    entry.path = bytes;
    const DeltaAnswer answer = delta_->answer(entry);
    if (answer == DeltaAnswer::added) return FilterMatch{Kind::raw, std::string(bytes), true};
    if (answer == DeltaAnswer::removed) return std::nullopt;
  }
  const SectionView& section = file_.raw();
  if (!section) return std::nullopt;
  const Hash128 key = file_.keys().raw(bytes);
  const Place place = section.place(key);
  if (file_.checks_reads()) file_.check_read(section.page_address(place));
  if (!section.test(place)) return std::nullopt;
  if (file_.exceptions().of(key) != 0) return std::nullopt;
  const ExactAnswer second =
      exact_ == nullptr ? ExactAnswer::unknown : exact_->ask_checked(exact_fingerprint(Kind::raw, key));
  if (second == ExactAnswer::refuted) return std::nullopt;
  return FilterMatch{Kind::raw, std::string(bytes), false, second == ExactAnswer::confirmed};
}

std::optional<Error> FilterQuery::damage() const {
  std::optional<Error> out = file_.damage();
  return out || exact_ == nullptr ? out : exact_->damage();
}

}  // namespace bloomwall::filter
