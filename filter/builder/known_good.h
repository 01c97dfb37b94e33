// URLs that must not be stopped by mistake. Loaded before the lists are read: every key that a request for one of them would
// ask is remembered. While entries pass, those that are truly listed are marked. Afterwards each of the others that tests
// positive becomes an exception (filter/file/exceptions.h): so a known-good URL is stopped only where it is listed.
//   lists: one URL, host or domain a line, as a person would type it (with --raw: one key); blank lines and lines that begin
//   with # are passed over; compressed ones are read. A domain stands for its root, not for the URLs on it.
// Memory: about 64 bytes a key, at most kMaxKnownGoodKeys of them; a URL of five labels and two folders has some 25.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "filter/builder/draft_pages.h"
#include "filter/builder/key_observer.h"
#include "filter/file/exceptions.h"
#include "filter/keys/url_parts.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxKnownGoodKeys = std::size_t{1} << 26;

class KnownGood final : public KeyObserver {
 public:
  KnownGood(const KeyMaker& keys, bool raw) : keys_(keys), raw_(raw) {}
  // Errors: those of ListInput; limit.
  Result<void> load(const std::string& list);

  void expect_workers(unsigned /*workers*/) override {}
  void seen(unsigned worker, const EntryKeys& keys) override;
  Result<void> check() const override { return {}; }

  // After the last entry is in: the keys that test positive and were not seen, sorted as records. Those of them are
  // exceptions that nobody listed: all, where every entry of the filter was seen.
  std::vector<Exception> positives(const PageViews& pages) const;
  // The same. Errors: limit where there are too many.
  Result<std::vector<Exception>> exceptions(const PageViews& pages) const;

  std::uint64_t lines() const { return lines_; }        // taken
  std::uint64_t unusable() const { return unusable_; }  // no URLs
  std::size_t keys() const { return known_.size(); }

 private:
  struct HashOf {
    std::size_t operator()(const Hash128& key) const { return key.lo; }  // seeded by the series key
  };
  struct Known {
    KindMask asked = 0;
    KindMask listed = 0;  // written atomically while entries pass
  };
  void take_line(std::string_view line);
  void take_form(UrlParts& parts, UrlHashes& hashes);
  void ask(const Hash128& key, Kind kind) { known_[key].asked |= kind_bit(kind); }

  KeyMaker keys_;
  bool raw_;
  Canonicaliser canonicaliser_;
  std::unordered_map<Hash128, Known, HashOf> known_;
  std::uint64_t lines_ = 0, unusable_ = 0;
};

}  // namespace bloomwall::filter
