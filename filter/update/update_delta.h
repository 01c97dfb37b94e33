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
#include <string>
#include <vector>

#include "filter/file/filter_file.h"
#include "filter/file/signature.h"
#include "filter/policy/delta.h"
#include "filter/policy/list_exceptions.h"
#include "filter/update/changes.h"
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

}  // namespace bloomwall::filter
