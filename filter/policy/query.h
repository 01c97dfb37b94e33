// One filter file asked by itself, without a configuration: `bloomwall-filter query`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "filter/file/exact_side.h"
#include "filter/policy/delta.h"
#include "filter/policy/lookup.h"

namespace bloomwall::filter {

struct FilterMatch {
  Kind kind = Kind::suffix;
  std::string expression;  // "example.com", "example.com/a/", "1.10.16.0/20", the raw bytes
  bool by_delta = false;
  bool confirmed = false;  // by the exact side
};

// Of one filter: a raw key, byte for byte. Allocates only where it matches. Thread-safe.
std::optional<FilterMatch> query_raw(const LookupTarget& target, std::string_view bytes);

// Cheap to make; borrows all. Thread-safe. After an answer ask damage() and file.lost(): then it means nothing.
class FilterQuery {
 public:
  explicit FilterQuery(const FilterFile& file, const Delta* delta = nullptr, const ExactSide* exact = nullptr)
      : file_(file), delta_(delta), exact_(exact), plan_(file) {}

  // The first match of any form. A URL that is to be rejected matches nothing.
  std::optional<FilterMatch> url(const CanonicalUrl& url) const;
  // A raw key, byte for byte.
  std::optional<FilterMatch> raw(std::string_view bytes) const;
  // What was found of the files so far, where they check what is read of them: then no answer counts.
  std::optional<Error> damage() const;

 private:
  LookupTarget target() const;

  const FilterFile& file_;
  const Delta* delta_;
  const ExactSide* exact_;
  FilterPlan plan_;
};

inline std::optional<FilterMatch> query(const FilterFile& file, const Delta* delta, const CanonicalUrl& url) {
  return FilterQuery(file, delta).url(url);
}

}  // namespace bloomwall::filter
