// The keys of URLs and of entries: how hosts and paths are split, what a URL is asked for, what an entry is kept as.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/lazy.h"
#include "base/small_buffer.h"
#include "filter/bits/key.h"
#include "filter/url/address.h"
#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// Splits a canonical path into its segments. Views only: nothing is allocated or copied, and the path is walked in time
// linear in its text.
// Input: the path of a CanonicalUrl form or of an Entry, which must outlive the range. Never normalise a form again: an
// alternative form may hold a segment ".." that is a name.
//   PathPrefixes("/a/b")   ->  "a" depth 1 prefix "/a/", "b" depth 2 prefix "/a/b" (not a directory)
//   PathPrefixes("/a/b/")  ->  the same, and "b" is a directory: prefix "/a/b/"
//   PathPrefixes("/")      ->  nothing
struct PathSegment {
  std::string_view text;      // between the slashes; never empty
  std::string_view prefix;    // the path from its start up to this segment, with its slash where it has one
  std::size_t depth = 0;      // 1 for the first
  bool is_directory = false;  // a '/' follows; false only for the last segment of a path that does not end in '/'
};

class PathPrefixes {
 public:
  class Iterator {
   public:
    using value_type = PathSegment;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(std::string_view path) : path_(path) { cut(); }
    const PathSegment& operator*() const { return now_; }
    const PathSegment* operator->() const { return &now_; }
    Iterator& operator++() {
      cut();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      cut();
      return before;
    }
    friend bool operator==(const Iterator& a, std::default_sentinel_t) { return a.now_.text.empty(); }

   private:
    void cut() {
      now_.text = {};
      const std::size_t begin = path_.find_first_not_of('/', next_);
      if (begin == std::string_view::npos) return;
      const std::size_t slash = path_.find('/', begin);
      now_.is_directory = slash != std::string_view::npos;
      const std::size_t end = now_.is_directory ? slash : path_.size();
      next_ = now_.is_directory ? end + 1 : end;
      now_.text = path_.substr(begin, end - begin);
      now_.prefix = path_.substr(0, next_);
      ++now_.depth;
    }
    std::string_view path_;
    std::size_t next_ = 0;
    PathSegment now_;
  };

  explicit PathPrefixes(std::string_view path) : path_(path) {}
  Iterator begin() const { return Iterator(path_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::string_view path_;
};

// The host suffixes and path prefixes of one canonical URL (UrlParts), and their hashes and keys under one series key
// (UrlHashes). Each hash is computed at most once, when it is first needed, and is shared by all filters of the series.
// A host has at most 127 labels (253 octets), a path any number of segments.
// Time: linear in the URL, per series. Borrow the CanonicalUrl, which must outlive them. Not thread-safe; allocate only
// for hosts of more than 16 labels, for paths that are asked about and have more than 15 segments, and for queries that
// are read by their parameters.

inline constexpr std::size_t kMaxSuffixes = 128;

class UrlParts {
 public:
  explicit UrlParts(const CanonicalUrl& url);

  // Suffix 0 is the whole host, each next one its parent domain, the last one the last label. An address has one suffix
  // and no labels.
  std::size_t suffixes() const { return starts_.size(); }
  std::string_view suffix(std::size_t i) const { return host_.substr(starts_[i]); }
  std::size_t labels(std::size_t i) const { return is_address_ ? 0 : starts_.size() - i; }
  bool is_address() const { return is_address_; }
  // The same as a value, for which networks are asked; null for a name. Read from the text when first asked for.
  const IpAddress* address();

  // The path prefixes of one form. Depth d is the first d segments; depth() all of them.
  void use_form(const UrlForm& form);
  std::string_view path() const { return form_.path; }
  std::string_view query() const { return form_.query; }
  std::size_t depth();
  std::string_view segment(std::size_t d);  // 1 <= d <= depth()
  std::string_view prefix(std::size_t d);   // "" for depth 0, else "/a/b" without a slash at its end

 private:
  void cut_host();
  void cut_path();
  const CanonicalUrl& url_;
  std::string_view host_;
  bool is_address_, is_address_read_ = false;
  Lazy<IpAddress> address_;
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
  // Whoever asks says how: filters of one series share these hashes, and may read queries in different ways.
  const Hash128& query(QueryReading reading);
  // The key of a URL entry of that kind (U, Q or D) on a suffix, with the first `depth` segments as its path.
  Hash128 key(Kind kind, std::size_t suffix, std::size_t depth, QueryReading reading);
  void forget_form();

 private:
  const KeyMaker* keys_;
  UrlParts* parts_;
  std::array<std::uint64_t, kMaxSuffixes / 64> known_hosts_{};
  struct Query {
    bool is_known = false;
    Hash128 hash;
  };
  std::array<Query, 2> queries_;  // by QueryReading
  SmallBuffer<Hash128, 16> hosts_;
  SmallBuffer<Hash128, 16> paths_;  // [0] is P0
};

// The keys that a filter stores for one entry (filter/FORMAT.md, "Key derivation 1"). Look-ups get the same keys from a
// URL: UrlHashes. Both split hosts and paths in one way and hash them by KeyMaker; EntrySample compares them in each
// build.
//   S X W   one variant of the host in H
//   U Q D   a mark of the host in H, and a key in P
//   R       a key in R
struct EntryKeys {
  Kind kind = Kind::suffix;
  Hash128 host{};            // all kinds but R
  Variant host_variant = 0;  // of H: the kind itself, or its mark
  Hash128 key{};             // of P for U, Q, D; of R for R
  std::uint32_t depth = 0;   // D: number of segments, at least 1
};

// The hash of a query that is not empty, in that reading.
Hash128 hash_of_query(const KeyMaker& keys, std::string_view query, QueryReading reading);

// The host of an entry as a URL that UrlParts can split.
CanonicalUrl host_of(const Entry& entry);

// `host` is the hash of entry.host (ignored for R); queries are read as keys.queries() says; linear in the length of
// path and query. Thread-safe.
EntryKeys keys_of(const KeyMaker& keys, const Entry& entry, const Hash128& host);

}  // namespace bloomwall::filter
