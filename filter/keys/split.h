// Splits a canonical host into itself and its parent domains, and a canonical path into its segments. Views only:
// nothing is allocated or copied; each range is walked in time linear in its text.
// Input: host and path of a CanonicalUrl form or of an Entry; both must outlive the range. Never normalise a form
// again: an alternative form may hold a segment ".." that is a name.
//   HostSuffixes("a.b.example", HostKind::name)  ->  a.b.example (3 labels), b.example (2), example (1)
//   HostSuffixes("192.0.2.1", HostKind::ipv4)    ->  192.0.2.1 (1): an address has no parents
//   PathPrefixes("/a/b")   ->  "a" depth 1 prefix "/a/", "b" depth 2 prefix "/a/b" (not a directory)
//   PathPrefixes("/a/b/")  ->  the same, and "b" is a directory: prefix "/a/b/"
//   PathPrefixes("/")      ->  nothing
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "filter/url/canonical_url.h"

namespace bloomwall::filter {

struct HostSuffix {
  std::string_view text;
  std::size_t labels = 0;  // of this suffix; 1 for a single label and for an address
};

// The whole host first, then each parent, down to the last label (the caller decides whether that one counts).
class HostSuffixes {
 public:
  class Iterator {
   public:
    using value_type = HostSuffix;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(HostSuffix first) : now_(first) {}
    HostSuffix operator*() const { return now_; }
    Iterator& operator++() {
      now_.text.remove_prefix(now_.labels > 1 ? now_.text.find('.') + 1 : now_.text.size());
      --now_.labels;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, std::default_sentinel_t) { return a.now_.labels == 0; }

   private:
    HostSuffix now_;
  };

  HostSuffixes(std::string_view host, HostKind kind) : first_{host, count_labels(host, kind)} {}
  Iterator begin() const { return Iterator(first_); }
  std::default_sentinel_t end() const { return {}; }
  std::size_t size() const { return first_.labels; }  // how many suffixes, which is the number of labels

 private:
  static std::size_t count_labels(std::string_view host, HostKind kind) {
    if (host.empty()) return 0;
    if (kind != HostKind::name) return 1;
    return 1 + static_cast<std::size_t>(std::count(host.begin(), host.end(), '.'));
  }
  HostSuffix first_;
};

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

// Number of segments: "/a/b" and "/a/b/" both have 2, "/" has none.
inline std::size_t path_depth(std::string_view path) {
  std::size_t depth = 0;
  for (const PathSegment& segment : PathPrefixes(path)) depth = segment.depth;
  return depth;
}

}  // namespace bloomwall::filter
