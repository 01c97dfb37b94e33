// What has to be in a filter, by content: the lists that a file in the form of sha256sum names. `build` and `merge` refuse
// what is missing, altered or given twice, so that a list that was cut, or a shard that was forgotten, is no filter.
//   64 hex digits, two blanks (or a blank and '*'), a name; blank lines and lines that begin with '#' count for nothing.
// The digest decides; the name tells what is missing, and that something was altered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filter/file/file_info.h"

namespace bloomwall::filter {

class SourceList {
 public:
  // Errors: io, bad_syntax with "file:line", limit over 64 MiB; usage where it names nothing.
  static Result<SourceList> read(const std::filesystem::path& file);

  // Whether the sources are those that are named, each as often as it is named. Error: usage, with the first of each sort.
  Result<void> judge(const std::vector<SourceInfo>& sources) const;

 private:
  struct Named {
    Sha256 sha256{};
    std::string name;
  };
  const Named* named(const std::string& name) const;
  std::string file_;
  std::vector<Named> named_;
};

}  // namespace bloomwall::filter
