// Finds the lines of lists that say something: reads the lists again, as a build with its usual options does, and keeps
// the lines whose entries are wanted. Options of a build that change what a line stands for (--exact, --raw ...) are
// not known here, so entries are compared by their text alone, and not by their kind.
// Memory: that of reading one list. Time: that of reading all. Errors: as read_list().
// Threads: any; one call is one thread's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "filter/bits/key.h"
#include "filter/lists/list_folder.h"
#include "filter/lists/list_input.h"
#include "filter/lists/list_reader.h"
#include "filter/result.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxFoundLines = 100;      // of one list; more are left out
inline constexpr std::size_t kMaxFoundLineBytes = 500;  // longer ones are cut

struct FoundLine {
  std::uint64_t line = 0;  // from 1
  std::string text = {};
};
struct SearchedList {
  std::string path = {};
  TextDigest digest{};  // of the file as stored: what the filter's header says of its sources
  std::vector<FoundLine> lines = {};
  std::string loss = {};  // what of it is not taken: loss_text()
};

// `wanted`: texts as text_of(Entry) or text_of(AddressRange) gives them; an address stands for every range that holds
// it. `queries`: as the filter reads them. Exceptions of lists are searched, too. `stop`: asked from time to time;
// empty: never. `read`: of a list that is not read as usual; what leaves out entries (allow_tld, allow_wide_ranges,
// white_categories) does not count.
Result<SearchedList> search_list(const ListFile& list, const std::set<std::string, std::less<>>& wanted,
                                 const std::function<bool()>& stop = {}, ReadOptions read = {},
                                 QueryReading queries = QueryReading::as_spelt);

// The files and category folders that stand in a folder, in the order of their names; hidden ones are left out.
inline constexpr std::size_t kMaxListsOfFolder = 1000;
Result<std::vector<std::string>> lists_of_folder(const std::filesystem::path& folder);

}  // namespace bloomwall::filter
