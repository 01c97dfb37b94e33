// Expands an argument of `build` into the files to read: a file or "-" stands for itself; a folder in squidGuard/UT1
// form stands for its member files, each with its format and category.
//   malware/domains  malware/urls  malware/expressions  malware/usage  (each perhaps with .gz, .xz, .zst, .bz2 or .lz4)
// A folder of such folders (blacklists/malware/..., categories within categories too, kMaxFolderDepth deep) gives all
// its categories, in the order of their names. A category that is a symbolic link to another one of the same folder is
// an alias and is not read twice. Whatever else the folder holds is named in `left_out` of the first file, so that
// nothing is skipped silently. A dangling link, a pipe, a socket or a device is an error, because it may be meant as a
// list. An archive of categories (UT1's blacklists.tar.gz), compressed as lists may be, is read as the folder that it
// holds, and one that holds a single list and no category stands for that list; files that only accompany it (README,
// LICENSE, checksums, hidden ones) do not count. See list_archive.h.
// Where categories are named, these alone are read, with the categories within them, by any of their names: "hobby" is
// also "hobby/cooking".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "filter/lists/list_format.h"
#include "filter/lists/list_input.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Folders of lists, on the disk or in an archive: what expand_list() looks through.

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
  virtual bool is_archive() const { return false; }
  virtual std::uint64_t unpacked_bytes() const { return 0; }  // of an archive
  // The same tree under another name, in errors and reports; null where it has only the one.
  virtual std::shared_ptr<const ListTree> named(const std::string& /*name*/) const { return nullptr; }
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

// What a category's file "usage" says it is for.
enum class Usage : std::uint8_t { unknown, black, white, both };
const char* to_string(Usage usage);

struct ListFile {
  std::string path;                  // "-" is stdin; "ut1.tar.gz:malware/domains" in an archive
  std::string list;                  // the argument it came from
  std::string category;              // "malware", "hobby/cooking"; empty for a single file
  std::vector<std::string> aliases;  // other names of that category
  Format format = Format::auto_detect;
  Usage usage = Usage::unknown;
  std::vector<std::string> left_out;               // paths in the folder that are not read, and why
  std::function<Result<ListInput>()> opener = {};  // of what is in an archive; null: `path` is opened

  Result<ListInput> open() const { return opener ? opener() : ListInput::open(path); }
};

// `categories`: these alone; empty: all. Error `usage` where one of them is not there, with the names that are.
// `unpacked`: what the archive `argument` holds, from whoever unpacked it before; null: it is opened here.
Result<std::vector<ListFile>> expand_list(const std::string& argument, const std::vector<std::string>& categories = {},
                                          const std::shared_ptr<const ListTree>& unpacked = nullptr);

}  // namespace bloomwall::filter
