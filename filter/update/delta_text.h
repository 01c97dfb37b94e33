// The text of a delta that is being changed: its lines in the order of their last changes, without overruled ones.
//   first line, with a sequence one higher at each write and the number of changes; comments; one line an entry, its
//   kind written out; networks, each address in one line at most
// The order matters: an ambiguous URL stands for all its forms, so a line may touch entries that others name too.
// Comments stand before the entries; one behind an entry is lost. Signatures are lost: a changed delta is signed again.
// Memory: about 150 bytes an entry. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filter/policy/delta.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

class DeltaText {
 public:
  explicit DeltaText(const FileId& base) : base_(base) {}
  // Reads the present file; returns all of its errors, wrong_base too.
  // `any_base`: accepts a delta made for any other file; from now on it is for `base`.
  static tl::expected<DeltaText, std::vector<Error>> read(std::string_view text, const std::string& name,
                                                          const KeyMaker& keys, const FileId& base,
                                                          bool any_base = false);

  // Sets what the delta says about an entry, in place of what it said before; with DeltaAnswer::nothing it says
  // nothing. Returns whether that is a change.
  bool set(const Entry& entry, DeltaAnswer answer);
  DeltaAnswer answer(const Entry& entry) const;
  // Likewise about every address of a range of networks.
  bool set(const AddressRange& range, DeltaAnswer answer);
  bool adds_some_of(const AddressRange& range) const;
  std::uint64_t drop_removals();  // returns how many
  // Entries and ranges; linear in the ranges.
  std::uint64_t size() const { return added() + removed(); }
  std::uint64_t added() const { return added_ + networks(DeltaAnswer::added).size(); }
  std::uint64_t removed() const { return places_.size() - added_ + networks(DeltaAnswer::removed).size(); }
  std::uint64_t sequence() const { return sequence_; }
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }

  // Delta::parse gives back what this says.
  std::string text() const;

 private:
  struct Line {
    std::string entry;  // "S example.com"; empty: overruled later
    DeltaAnswer answer;
  };
  void compact();
  RangeSet networks(DeltaAnswer answer) const { return networks_.of(static_cast<std::uint32_t>(answer)); }

  FileId base_;
  std::uint64_t sequence_ = 0;
  std::uint64_t added_ = 0;  // entries
  std::vector<std::string> comments_;
  std::vector<Line> lines_;
  std::unordered_map<std::string, std::size_t> places_;  // in lines_
  RangeMap networks_;                                    // values are DeltaAnswer
};

}  // namespace bloomwall::filter
