// The host suffixes and path prefixes of one canonical URL (UrlParts), and their hashes and keys under one series key
// (UrlHashes). Each hash is computed at most once, when it is first needed, and is shared by all filters of the series.
// A host has at most 127 labels (253 octets), a path any number of segments.
// Time: linear in the URL, per series. Borrow the CanonicalUrl, which must outlive them. Not thread-safe; allocate only
// for hosts of more than 16 labels and for paths that are asked about and have more than 15 segments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/lazy.h"
#include "base/small_buffer.h"
#include "filter/bits/key.h"
#include "filter/url/address.h"
#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxSuffixes = 128;

class UrlParts {
 public:
  explicit UrlParts(const CanonicalUrl& url);

  // Suffix 0 is the whole host, the last one its last label. An address has one suffix and no labels.
  std::size_t suffixes() const { return starts_.size(); }
  std::string_view suffix(std::size_t i) const { return host_.substr(starts_[i]); }
  std::size_t labels(std::size_t i) const { return is_address_ ? 0 : starts_.size() - i; }
  bool is_address() const { return is_address_; }
  // The same as a value, for which networks are asked; null for a name. Read from the text when first asked for.
  const Address* address();

  // The path prefixes of one form. Depth d is the first d segments; depth() all of them.
  void use_form(const UrlForm& form);
  std::string_view path() const { return form_.path; }
  std::string_view query() const { return form_.query; }
  std::size_t depth();
  std::string_view segment(std::size_t d);  // 1 <= d <= depth()
  std::string_view prefix(std::size_t d);   // "" for depth 0, else "/a/b" without a slash at its end

 private:
  void cut_path();
  const CanonicalUrl& url_;
  std::string_view host_;
  bool is_address_, is_address_read_ = false;
  Lazy<Address> address_;
  bool is_cut_ = false;
  UrlForm form_;
  SmallBuffer<std::uint8_t, 16> starts_;  // of each suffix in the host
  struct Cut {
    std::uint32_t begin, end;
  };
  SmallBuffer<Cut, 24> cuts_;  // of each segment in the path
};

class UrlHashes {
 public:
  UrlHashes(const KeyMaker& keys, UrlParts& parts);
  const KeyMaker& keys() const { return *keys_; }
  UrlParts& parts() { return *parts_; }

  const Hash128& host(std::size_t suffix);
  // Of the form that parts() has now; forget_form() after it took another.
  const Hash128& path(std::size_t depth);
  const Hash128& query();
  // The key of a URL entry of that kind (U, Q or D) on a suffix, with the first `depth` segments as its path.
  Hash128 key(Kind kind, std::size_t suffix, std::size_t depth);
  void forget_form();

 private:
  const KeyMaker* keys_;
  UrlParts* parts_;
  std::array<std::uint64_t, kMaxSuffixes / 64> known_hosts_{};
  bool query_known_ = false;
  Hash128 query_;
  SmallBuffer<Hash128, 16> hosts_;
  SmallBuffer<Hash128, 16> paths_;  // [0] is P0
};

}  // namespace bloomwall::filter
