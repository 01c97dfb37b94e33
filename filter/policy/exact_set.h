// Exact entries, each with a value of the caller's: what deltas and allow lists are made of. Grouped by host, so that a
// request asks for path entries only on hosts that have some, and only at depths that exist there.
// A hash (the filter's own keys) finds a candidate; the canonical text decides: nothing is matched by hash alone. Where
// the keys read queries by their parameters, so does the comparison of texts.
// Cost of find_matches(): one table probe for each host suffix; then, on hosts with path entries, one for U, one for Q
// and one for each directory depth that exists there and that the path reaches. Linear in the URL.
// A set may stand on another one, which it shares and leaves as it is: what it says of an entry overrules what that one
// says. So what is added to a large set costs what is added. Questions cost about one probe more for each host suffix
// then.
// Memory: the texts plus about 64 bytes an entry. Const calls are thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/small_buffer.h"
#include "filter/bits/key.h"
#include "filter/keys/keys.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// A whole URL, or a host alone (CONNECT, SNI), for which only host kinds are asked.
enum class Scope : std::uint8_t { url, host };

// One entry that a URL's form matches: which expression of the URL it is, and the entry's value.
struct ExactMatch {
  Kind kind;
  std::uint16_t suffix;  // of UrlParts
  std::uint32_t depth;   // of UrlParts; path kinds only
  std::uint32_t value;
};
using ExactMatches = SmallBuffer<ExactMatch, 8>;

class ExactSet {
 public:
  // Both sides of every question must use the same keys: UrlHashes given to find_matches() are of `keys` too.
  explicit ExactSet(const KeyMaker& keys) : keys_(keys) {}
  // On top of `base`, which stands on no other set.
  explicit ExactSet(std::shared_ptr<const ExactSet> base) : base_(std::move(base)), keys_(base_->keys_) {}

  // The value of an entry, made with 0 where it was not there; 0 means "not in the set", and is never assigned. Valid
  // until the next call.
  std::uint32_t& at(const Entry& entry);
  std::uint32_t find(const Entry& entry) const;
  std::size_t size() const { return size_ + (base_ == nullptr ? 0 : base_->size()); }
  const KeyMaker& keys() const { return keys_; }

  // Appends every entry that the current form matches, by suffix, the whole host first; on each host kinds, then U, Q,
  // and D by depth.
  void find_matches(UrlHashes& url, Scope scope, ExactMatches& matches) const;
  // Whether a host name of that many labels is among the entries (63 stands for that many and more).
  bool may_hold_labels(std::size_t labels) const;
  // The longest suffix of the host on which URL entries exist, and one kind of them.
  struct PathMark {
    std::uint16_t suffix;
    Kind kind;
    std::uint32_t depth;  // of directories: the least, at most kDeepestMark
  };
  std::optional<PathMark> path_mark(UrlHashes& url) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr unsigned kDeepBit = 63;  // of directory_depths: stands for depth 64 and deeper

  struct Host {
    std::uint64_t hash;
    std::uint64_t text;
    std::uint32_t length;
    std::array<std::uint32_t, 3> values;  // S, X, W
    std::uint64_t directory_depths;       // bit d - 1 for depth d, see kDeepBit
    bool has_url, has_query;
    bool has_paths() const { return has_url || has_query || directory_depths != 0; }
  };
  // What this set and its base have of one suffix; null: nothing.
  struct Layers {
    const Host* own = nullptr;
    const Host* base = nullptr;
    bool empty() const { return own == nullptr && base == nullptr; }
    bool has_paths() const { return (own != nullptr && own->has_paths()) || (base != nullptr && base->has_paths()); }
  };
  struct Path {  // and raw keys, whose host is kNone
    std::uint64_t hash;
    std::uint64_t text;
    std::uint32_t path_length, query_length;
    std::uint32_t host;
    std::uint32_t value;
    Kind kind;
  };
  // What a stored path is compared with; `path` without a slash at its end.
  struct PathText {
    Kind kind;
    std::uint32_t host;
    std::string_view path, query;
  };
  // Open addressing over an array of records with a member `hash`: slots hold 1 + index, 0 is free; at most half full.
  using Slots = std::vector<std::uint32_t>;

  bool is_same_query(std::string_view stored, std::string_view asked) const;
  std::uint32_t find_host(const Hash128& hash, std::string_view text) const;
  std::uint32_t find_path(const Hash128& key, const PathText& wanted) const;
  std::uint32_t add_host(const Hash128& hash, const Entry& entry);
  std::uint32_t& path_value(const Hash128& key, const PathText& wanted);
  void note_depth(std::uint32_t host, std::size_t depth);
  struct EntryKey;
  EntryKey key_of(const Entry& entry) const;
  std::uint32_t& own_value(const Entry& entry);
  const Host* host_of(UrlHashes& url, std::size_t suffix) const;
  Layers layers_of(UrlHashes& url, std::size_t suffix) const;
  std::uint32_t value_of(const Host* host, Kind kind, const Hash128& key, std::string_view path,
                         std::string_view query) const;
  std::span<const std::uint32_t> deep_of(const Host* host) const;
  static void match_host(const Layers& host, std::size_t suffix, ExactMatches& matches);
  void match_paths(const Layers& host, std::size_t suffix, UrlHashes& url, ExactMatches& matches) const;
  std::string_view text(std::uint64_t at, std::uint32_t length) const {
    return std::string_view(text_).substr(at, length);
  }
  std::uint64_t store(std::string_view text);

  std::shared_ptr<const ExactSet> base_;  // null: none
  KeyMaker keys_;
  std::string text_;
  std::vector<Host> hosts_;
  std::vector<Path> paths_;
  Slots host_slots_, path_slots_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> deep_;  // by host: depths from 64 on, ascending
  std::uint64_t label_counts_ = 0;  // bit l for hosts of l labels (0: addresses, 63: that many and more)
  std::size_t size_ = 0;            // entries that the base lacks
};

}  // namespace bloomwall::filter
