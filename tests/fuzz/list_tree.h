// Looks through all of an archive: a tree ends, whatever its links say, and every file in it can be read to its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "filter/lists/list_folder.h"
#include "tests/fuzz/require.h"

namespace bloomwall::fuzz {

// Folders that have several names are looked through once.
inline void walk_tree(const filter::ListTree& tree, const std::string& folder, std::set<std::string>& seen) {
  const auto real = tree.real(folder);
  if (!real || !seen.insert(*real).second) return;
  const auto contents = tree.contents_of(folder);
  if (!contents) return;
  for (const std::string& file : contents->files) {
    const std::string path = filter::below(folder, file);
    require(tree.is_file(path) && tree.shown(path).starts_with("list:"));
    auto input = tree.open(path);
    require(input.has_value());
    while (true) {
      const auto chunk = input->next();
      if (!chunk) break;
      if (!chunk->empty()) continue;
      require(input->stored_bytes() == input->stored_total());
      break;
    }
  }
  for (const std::string& name : contents->folders) walk_tree(tree, filter::below(folder, name), seen);
}

}  // namespace bloomwall::fuzz
