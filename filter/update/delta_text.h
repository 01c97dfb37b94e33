// The text of a delta that is being changed: its lines in the order of their last changes, without overruled ones.
//   first line, with a sequence one higher at each write and the number of changes; comments; one line an entry, its
//   kind written out; networks, each address in one line at most
// The order matters: an ambiguous URL stands for all its forms, so a line may touch entries that others name too.
// Comments stand before the entries; one behind an entry is lost. Signatures are lost: a changed delta is signed again.
// Cost: a text that was written so is not parsed; to read, change and write it takes about 0.1 s a million entries.
// Memory: its text and 16 octets an entry, about 150 octets an entry of other texts. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filter/policy/delta.h"
#include "filter/update/written_lines.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

class DeltaText {
 public:
  explicit DeltaText(const FileId& base, const KeyMaker& keys) : base_(base), keys_(keys), written_(keys) {}
  // Reads the present file; returns all of its errors, wrong_base too.
  // `any_base`: accepts a delta made for any other file; from now on it is for `base`.
  static tl::expected<DeltaText, std::vector<Error>> read(std::string_view text, const std::string& name,
                                                          const KeyMaker& keys, const FileId& base,
                                                          bool any_base = false);

  // Sets what the delta says about an entry, in place of what it said before; with DeltaAnswer::nothing it says
  // nothing. An address that was removed from the networks and is added is in them again. Returns whether that is a
  // change.
  bool set(const Entry& entry, DeltaAnswer answer);
  DeltaAnswer answer(const Entry& entry) const;
  // Likewise about every address of a range of networks.
  bool set(const AddressRange& range, DeltaAnswer answer);
  bool adds_some_of(const AddressRange& range) const;
  bool removes(const AddressRange& range) const;  // all of it
  // The addresses of this range that are added as hosts.
  std::vector<IpAddress> added_addresses(const AddressRange& range) const;
  std::uint64_t drop_removals();  // returns how many
  // Entries and ranges; linear in the ranges.
  std::uint64_t size() const { return added() + removed(); }
  std::uint64_t added() const { return written_.added() + added_ + networks(DeltaAnswer::added).size(); }
  std::uint64_t removed() const {
    return written_.removed() + places_.size() - added_ + networks(DeltaAnswer::removed).size();
  }
  std::uint64_t sequence() const { return sequence_; }
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }

  // Delta::parse gives back what this says.
  std::string text() const;
  // Likewise without the lines that are as a reader has to take them, and without the number of changes.
  std::string changed_text() const;

 private:
  struct Line {
    std::string key;  // "S example.com"; empty: overruled later
    DeltaAnswer answer;
  };
  static std::optional<DeltaText> read_written(std::string_view text, const KeyMaker& keys, const FileId& base);
  DeltaAnswer answer_of(const std::string& key) const;
  void forget(const std::string& key);
  void append_comments(std::string& out) const;
  void append_changes(std::string& out) const;
  void compact();
  RangeSet networks(DeltaAnswer answer) const { return networks_.of(static_cast<std::uint32_t>(answer)); }

  FileId base_;
  KeyMaker keys_;
  std::uint64_t sequence_ = 0;
  std::vector<std::string> comments_;
  WrittenLines written_;     // before the lines; none of them is about the same entry
  std::uint64_t added_ = 0;  // of the lines
  std::vector<Line> lines_;
  std::unordered_map<std::string, std::size_t> places_;  // in lines_
  RangeMap networks_;                                    // values are DeltaAnswer
  std::set<IpAddress> addresses_;                        // that are added as hosts
};

}  // namespace bloomwall::filter
