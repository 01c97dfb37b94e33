// The entries of a delta as `update` writes them, left as the text that they are: who changes one of a million lines
// walks over them once and pays 16 octets of an index a line, instead of an object for each.
//   "+S example.com\n-U example.com/a\n"      one line an entry, its kind written out, its text canonical
// Whatever stands here a reader takes (Delta::parse), as exactly this entry. Plain names and paths are canonical by
// their characters; other lines are parsed one by one.
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/keys/keys.h"
#include "filter/policy/delta.h"
#include "filter/url/address.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// "S example.com": what a line says after its '+' or '-'. Where a filter reads queries by their parameters, an entry is
// written with its plain query (plain_query.h).
std::string delta_key(const Entry& entry, QueryReading queries);
// What stands in a line for it: of a raw key, a reader takes one CR off the end.
std::string delta_line(std::string_view key, DeltaAnswer answer);  // ends with LF

class WrittenLines {
 public:
  explicit WrittenLines(const KeyMaker& keys) : keys_(keys) {}  // none
  // Nothing where a line is of another form or an entry has two lines: that text must be parsed. Linear.
  static std::optional<WrittenLines> of(std::string_view lines, const KeyMaker& keys);

  // What a line says of the entry with this key.
  DeltaAnswer answer(std::string_view key) const;
  void remove(std::string_view key);             // nothing where there is no line of it
  std::uint64_t remove_all(DeltaAnswer answer);  // returns how many; linear
  std::uint64_t added() const { return added_; }
  std::uint64_t removed() const { return removed_; }
  // That were added as hosts when this was made.
  const std::vector<IpAddress>& added_addresses() const { return addresses_; }
  void append_to(std::string& out) const;  // in the order of the text

 private:
  // Where the line begins (below 2^30, as kMaxEntryText is), whether it is gone, and in the upper half a part of the
  // hash of its key. 0: free.
  using Slot = std::uint64_t;
  static constexpr Slot kUsed = Slot{1} << 30, kGone = Slot{1} << 31;

  bool read(QueryReading queries);
  std::string_view key_at(std::size_t begin) const;
  // The slot of this key, or the free one where it would be.
  std::size_t place_of(std::string_view key, const Hash128& hash) const;
  std::optional<std::size_t> find(std::string_view key) const;  // a place
  void remove(std::size_t place);

  KeyMaker keys_;
  std::string text_;
  std::vector<Slot> slots_;  // open addressing; a power of two
  std::vector<std::size_t> gone_;
  std::vector<IpAddress> addresses_;
  std::uint64_t added_ = 0, removed_ = 0;
};

}  // namespace bloomwall::filter
