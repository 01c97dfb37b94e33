// The archives of a run, unpacked: several filters that take from one of them, and the check of what was fetched and
// the build that follows it, read what was unpacked once. They lie in files without a name (list_archive.h) as long as
// they are kept: those that several filters take from until the run ends, the others until their filter is done.
// Not thread-safe; under the lock of the update.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "filter/lists/list_folder.h"

namespace bloomwall::proxy {

// SHA-256 of what is stored, hexadecimal; empty where it cannot be read.
std::string digest_of_file(const std::filesystem::path& file);

class UnpackedArchives {
 public:
  struct Archive {
    std::shared_ptr<const filter::ListTree> tree = {};  // null: it is not known
    std::uint64_t bytes = 0;                            // that it was unpacked to
    bool is_shared = false;                             // several filters take from it
  };
  // `sha256`: of the archive as it was fetched.
  Archive find(const std::string& sha256) const;
  void keep(const std::string& sha256, Archive archive);
  void end_filter();  // lets those go that are not shared

 private:
  std::map<std::string, Archive> known_;
};

}  // namespace bloomwall::proxy
