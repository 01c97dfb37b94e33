// The lists of an update: what `--add` and `--remove` name, in any list format, handed on entry by entry.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "filter/builder/intake.h"
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
// Reads lists in order on this thread; what became of each file is appended to `files`. An entry whose path is ambiguous
// gives several. Ranges of addresses come last, joined where they touch. Errors: those of lists; bad_syntax for a list of
// which too much can't be used: then entries of it have been handed on, and the caller drops all.
Result<void> read_changes(const std::vector<std::string>& lists, const ChangeLists& options,
                          std::vector<FileIntake>& files, const OnEntry& on_entry, const OnRange& on_range);

// Nothing to do, or stdin twice: usage.
Result<void> check_change_lists(const ChangeLists& lists);

}  // namespace bloomwall::filter
