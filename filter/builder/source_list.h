// The lists that a filter must be made of, by content, as a file in the form of sha256sum names them. `build` and
// `merge` refuse what is missing, altered or given twice, so that no filter is made of a truncated list or without a
// shard.
//   64 hex digits, two blanks (or a blank and '*'), a name; blank lines and lines that begin with '#' count for
//   nothing.
// The digest decides; the name serves messages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "filter/file/file_info.h"

namespace bloomwall::filter {

class SourceList {
 public:
  // Errors: io, bad_syntax with "file:line", limit over 64 MiB; usage where it names nothing.
  static Result<SourceList> read(const std::filesystem::path& file);

  // Whether the sources are those that are named, each as often as it is named, or, with Wanted::any, some of those.
  // Error: usage, with the first of each sort. `is_missing`, where it is given: whether nothing but sources that are
  // missing is wrong.
  enum class Wanted : std::uint8_t { all, any };
  Result<void> check(const std::vector<SourceInfo>& sources, Wanted wanted = Wanted::all,
                     bool* is_missing = nullptr) const;
  // As `merge` orders the sources of several files: by name, then by content.
  static void order(std::vector<SourceInfo>& sources);

 private:
  struct Named {
    Sha256 sha256{};
    std::string name;
  };
  std::string file_;
  std::vector<Named> named_;
};

}  // namespace bloomwall::filter
