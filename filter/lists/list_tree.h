// Folders of lists, on the disk or in an archive: what expand_list() looks through.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "filter/lists/list_input.h"
#include "filter/result.h"

namespace bloomwall::filter {

inline constexpr std::size_t kMaxFolderFiles = 10'000;
inline constexpr int kMaxFolderDepth = 16;

// Paths are below the tree's root ("malware/domains"), which is "" itself. Symbolic links are followed.
class ListTree {
 public:
  // Names, in order, so that equal folders read equally. Links come last: a category's own name before its aliases.
  struct Contents {
    std::vector<std::string> files;
    std::vector<std::string> folders;
  };
  virtual ~ListTree() = default;
  virtual std::string own_name() const = 0;                               // of the root: "blacklists"
  virtual std::string shown(const std::string& path) const = 0;           // as errors and reports name it
  virtual bool is_file(const std::string& path) const = 0;                // a regular one
  virtual Result<std::string> real(const std::string& folder) const = 0;  // the same for all names of a folder
  // Errors: a link to nowhere, a pipe, a socket or a device, more than kMaxFolderFiles.
  virtual Result<Contents> contents_of(const std::string& folder) const = 0;
  virtual Result<ListInput> open(const std::string& path) const = 0;
};

// "a" and "b" as "a/b"; "" is the root.
inline std::string below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + '/' + name;
}

}  // namespace bloomwall::filter
