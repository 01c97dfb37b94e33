// Adds and removes on top of one filter file: exact, small, text. Asked before the filter's bits.
//   bloomwall-delta 1 base=00112233445566778899aabbccddeeff
//                                 the content id of the filter it was made for; and, if it has one, " sequence=7",
//                                 which grows with each delta made for that file; and " changes=12", how many lines
//                                 begin with '+' or '-': a text with another number of them, or without a line end,
//                                 was cut or edited and is refused. By hand it may be left out, or be taken out
//   # a comment; blank lines count for nothing
//   +example.com              adds it; the kind follows from the shape of the entry, as in any list (entry.h)
//   -http://example.com/a     takes that URL away
//   +X example.com            the kind given: one of S X W U Q D R N. Then the text is the canonical entry itself,
//                             octet for octet (text_of() in entry.h): "+U example.com/a/../b" has a segment "..". Text
//                             that is not canonical is read as if typed, where it can be read in one way only
//   -example.com              takes S and X of the host away; entries under it and its subdomains stay
//   +U example.com/           the URL "/" of the host, which without the kind would be the whole host
//   +R me@example.com         a raw key: every byte after the blank
//   +1.10.16.0/20             a network: addresses that hosts are dialled at. Also 1.10.16.0-1.10.31.255
//   -N 1.10.16.0/24           these addresses are in no network of the filter any more, however its ranges are cut.
//                             Entries of addresses (X) stay
//   +192.0.2.1/32             a network of one address: named or dialled, it is stopped
//   -192.0.2.1, -192.0.2.1/32 takes X of the address away, and the address out of the networks
//   +192.0.2.1, +X 192.0.2.1  adds it; where a line before has taken it out of the networks, it is in them again: an
//                             address is one thing, and the last word about it counts for both
//   signature ed25519 ...     at the end, of everything before: delta_signature.h. Beside a signed filter whose
//                             public key is known a delta must be signed too
// What a person can't have meant is refused: hosts that no request can have, and without a kind what why_not_typed() in
// delta_line.cc says.
// The last line about an entry, and about each address of networks, wins. An ambiguous URL without a kind is all its
// forms. Marks are never taken away.
// Limits: lines of 64 KiB, of 256 KiB where the kind is given, kMaxExactEntries entries, kMaxEntryText bytes. Const
// calls are thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filter/file/header.h"
#include "filter/policy/exact_set.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

enum class DeltaAnswer : std::uint8_t { nothing = 0, added = 1, removed = 2 };  // values in entries()

class Delta;
class TrustedKeys;

// What else is wanted of a text while it is read.
struct DeltaReading {
  const TrustedKeys* trusted = nullptr;  // one of them must have signed it, else untrusted and nothing is read
  // In the order of lines; an ambiguous URL gives one change for each form, a removal without a kind two. An address
  // that was taken out of the networks and is added gives a range, too.
  std::function<void(const Entry&, DeltaAnswer)> on_change = {};
  std::function<void(const AddressRange&, DeltaAnswer)> on_range = {};  // networks; likewise
  std::function<void(std::string_view line)> on_comment = {};
  // What was read of an earlier text, with the same keys. Where this one begins with the same lines after the first, as
  // one has that `update` appended to, these are neither parsed nor stored again: what is new is all it costs, besides
  // reading the text and one digest. Not used where somebody wants to be told of changes.
  std::shared_ptr<const Delta> former = {};
};

class Delta {
 public:
  using Loaded = tl::expected<Delta, std::vector<Error>>;

  // `keys` are those of the filter it belongs to. `base` is the content id of that filter (header.h); where the filter
  // itself could not be opened it is absent, and only the text is checked. Every error of the file
  // (kMaxReportedErrors), with file:line;
  // Errc::wrong_base where it was made for another filter.
  static Loaded load(const std::filesystem::path& file, const KeyMaker& keys, const std::optional<FileId>& base,
                     const DeltaReading& reading = {});
  static Loaded parse(std::string_view text, const std::string& name, const KeyMaker& keys,
                      const std::optional<FileId>& base, const DeltaReading& reading = {});
  // The first line of a delta for that filter, without a line end. Sequence 0 is not written.
  static std::string first_line(const FileId& base, std::uint64_t sequence = 0,
                                std::optional<std::uint64_t> changes = std::nullopt);

  std::uint64_t sequence() const { return sequence_; }  // 0: none
  // The content id that the first line names.
  const FileId& base() const { return base_; }
  // Whether one of the keys has signed it. Known only where DeltaReading::trusted was given, else false.
  bool is_signed_by(const TrustedKeys& trusted) const;

  // Whether what both texts begin with is stored once (DeltaReading::former).
  bool shares_lines_with(const Delta& other) const { return body_ == other.body_; }

  // What it says of exactly this entry (not of what the entry covers).
  DeltaAnswer answer(const Entry& entry) const { return static_cast<DeltaAnswer>(entries_.find(entry)); }
  // Values are DeltaAnswer.
  const ExactSet& entries() const { return entries_; }
  // What it says of networks. No address is in both.
  const RangeSet& added_networks() const { return added_; }
  const RangeSet& removed_networks() const { return removed_; }
  // Entries and ranges held; a removal of a host without a kind is two entries, of an address a range more.
  std::uint64_t size() const { return entries_.size() + added_.size() + removed_.size(); }

 private:
  friend class DeltaParser;
  // What later texts may begin with, too. Shared by all deltas that do.
  struct Body {
    explicit Body(const KeyMaker& keys) : entries(keys) {}
    ExactSet entries;
    RangeSet added, removed;
    std::uint64_t bytes = 0, lines = 0, changes = 0;  // of the text, from its second line on
    Hash128 digest;                                   // of these bytes, by the filter's secret key
  };
  explicit Delta(const KeyMaker& keys) : entries_(keys) {}
  FileId base_{};
  std::uint64_t sequence_ = 0;
  std::string signed_message_;  // empty: nobody asked
  std::vector<Signature> signatures_;
  std::shared_ptr<const Body> body_;
  ExactSet entries_;  // on top of those of the body
  RangeSet added_, removed_;
};

// How much of a text is whole lines up to the networks at its end, which `update` writes behind all entries.
std::size_t size_before_networks(std::string_view text);

// For who was told that a delta is there no more, or was made for another build of the filter: adds to the errors which
// command makes one that fits.
void name_remedy(std::vector<Error>& errors, const std::filesystem::path& filter, const std::filesystem::path& delta);

// How much of a filter a delta of so many entries is: of the distinct entries that its header counts. From some share
// on (2 % unless configured) a rebuild is due: a delta costs RAM and start-up time that bits do not, and what it
// removes goes on to answer by mistake for its neighbours.
double delta_share(std::uint64_t delta_entries, const Header& filter);
inline constexpr double kRebuildShare = 0.02;

}  // namespace bloomwall::filter
