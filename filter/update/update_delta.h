// `update F.bwf --delta D`: writes what lists add and remove into the delta of a filter.
//   The delta keeps what it says already; the last word about an entry counts, and overruled lines go.
//   Removes first, then adds: what both name is added.
//   Removing a host removes it alone and with its subdomains (S and X), whichever a list meant, and where it is removed
//   with its subdomains these alone as well (W).
//   An address is one thing: removing it removes it from networks (N), too, and adding it puts it back.
//   Ranges of addresses are taken address by address: removing a part of a range leaves the rest of it. Addresses in it
//   that the delta has added go as well; in a range of up to 256 addresses also those that the filter lists as hosts.
//   A removal of what the filter surely does not hold is left out.
//   A delta of another build of the filter is refused, or rebased: additions stay, because the lists of the new build
//   need not have them; removals go, because these lists may name them again, and nothing listed may pass.
//   What added lists except (list_exceptions.h) stands in a file beside the delta; what removed lists except leaves it.
// Replaced as a whole or not at all. Memory: that of the delta.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/signature.h"
#include "filter/policy/delta.h"
#include "filter/policy/list_exceptions.h"
#include "filter/update/changes.h"
#include "filter/url/address_range.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// Whether a filter's bits hold exactly one entry (networks are not in the bits): not what the entry covers, and not
// what covers it.

// False is sure; true may be a mistake, at the rate of one question. Thread-safe; linear in the entry.
bool may_hold(const FilterFile& file, const Entry& entry);

struct DeltaUpdate {
  std::filesystem::path filter, delta;
  ChangeLists lists;
  // Where the delta was made for another build: additions stay, removals go. Lists need not be given then.
  bool rebase = false;
  const SigningKey* key = nullptr;  // signs the result; what is there must be signed by it already
  bool take_unsigned = false;       // else refused: a change by somebody else would get signed
  FileAccess access = {};           // of the delta
};

struct DeltaUpdateReport {
  std::vector<IngestedFile> files;
  std::uint64_t changed = 0;             // entries about which the delta says something else now
  std::uint64_t dropped = 0;             // removals that a rebase left behind
  std::uint64_t not_there = 0;           // removals left out; of a host, where it is neither S nor X nor in a network
  std::uint64_t added = 0, removed = 0;  // entries in the delta, as written
  std::uint64_t bytes = 0;
  bool was_signed = false;
  ListExceptions exceptions;            // of the delta now
  std::size_t exceptions_unsigned = 0;  // left out since the delta is signed, and they can't be
  Header filter;
  double share() const;  // of the filter's entries
};

// All errors of the delta that is there (wrong_base and untrusted among them), else one. After an error nothing is
// written.
std::vector<Error> update_delta(const DeltaUpdate& update, DeltaUpdateReport& report);

// The text of a delta that is being changed: its lines in the order of their last changes, without overruled ones.
//   first line, with a sequence one higher at each write and the number of changes; comments; one line an entry, its
//   kind written out; networks, each address in one line at most
// The order matters: an ambiguous URL stands for all its forms, so a line may touch entries that others name too.
// Comments stand before the entries; one behind an entry is lost. Signatures are lost: a changed delta is signed again.
// Memory: about 150 bytes an entry. Not thread-safe.
class DeltaText {
 public:
  // `queries`: as the filter reads them. By their parameters, an entry is written with its plain query (plain_query.h).
  explicit DeltaText(const FileId& base, QueryReading queries = QueryReading::as_spelt)
      : base_(base), queries_(queries) {}
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
  std::string line_of(const Entry& entry) const;
  void compact();
  RangeSet networks(DeltaAnswer answer) const { return networks_.of(static_cast<std::uint32_t>(answer)); }

  FileId base_;
  QueryReading queries_;
  std::uint64_t sequence_ = 0;
  std::uint64_t added_ = 0;  // entries
  std::vector<std::string> comments_;
  std::vector<Line> lines_;
  std::unordered_map<std::string, std::size_t> places_;  // in lines_
  RangeMap networks_;                                    // values are DeltaAnswer
  std::set<IpAddress> addresses_;                        // that are added as hosts
};

}  // namespace bloomwall::filter
