// What an archive of lists holds, by the paths in it: the tree that expand_list() looks through. The files lie one
// after the other in a file without a name, in which they are read in any order and by several threads.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/handles.h"
#include "filter/lists/list_folder.h"

namespace bloomwall::filter {

struct ArchiveNode {
  enum class Kind : std::uint8_t { file, folder, link, other };
  Kind kind = Kind::folder;
  std::uint64_t offset = 0;           // of a file, among the unpacked ones
  std::uint64_t size = 0;             // of a file
  std::optional<std::string> target;  // of a link, from the archive's root; none: outside of the archive
};
using ArchiveNodes = std::map<std::string, ArchiveNode>;

// Where all of it is in one folder, that folder is the root. `name` stands in errors and reports.
std::shared_ptr<const ListTree> make_archive_tree(std::string name, ArchiveNodes nodes, UniqueFd file);

}  // namespace bloomwall::filter
