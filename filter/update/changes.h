// Reads the lists of an update (`--add`, `--remove`), in any list format, entry by entry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "filter/builder/ingest.h"
#include "filter/policy/list_exceptions.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {

struct ChangeLists {
  std::vector<std::string> add, remove;  // files, "-" for stdin, folders of categories
  ReadOptions read = {};
  bool raw = false;                // every line is a key, byte for byte
  bool allow_unsupported = false;  // take the rest of a list of which more than 5 % can't be used
};

using OnEntry = std::function<void(const Entry&)>;
using OnRange = std::function<void(const AddressRange&)>;
// Reads lists in order on this thread; appends the report of each file to `files`. An entry whose path is ambiguous
// gives several. Ranges of addresses come last, joined where they touch. Errors: those of lists; bad_syntax for a list
// of which too much can't be used: its entries were passed on by then, and the caller must drop all. Returns what the
// lists except.
Result<CarriedRules> read_changes(const std::vector<std::string>& lists, const ChangeLists& options,
                                  std::vector<IngestedFile>& files, const OnEntry& on_entry, const OnRange& on_range);

// Reads lists into a store with several threads, and checks their reports likewise.
Result<CarriedRules> read_into(KeyStore& store, const std::vector<std::string>& lists, const ChangeLists& options,
                               unsigned threads, std::vector<IngestedFile>& files);

// What is excepted after a change: of what was there without what is removed, and with what is added. `others`: what
// else must not be freed.
ListExceptions changed_exceptions(ListExceptions before, const CarriedRules& removed, const CarriedRules& added,
                                  const ImportantHosts& others = {});

// Nothing to do, or stdin twice: usage.
Result<void> check_change_lists(const ChangeLists& lists);

}  // namespace bloomwall::filter
