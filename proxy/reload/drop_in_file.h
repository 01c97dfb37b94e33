// One file of the folder that a configuration includes (Config::drop_in_folder), changed by a program: read as it is,
// checked in its place by what a reload asks first (the parser, and what compiles groups and schedules), replaced at
// once or not at all, and put back where the reload after it is refused. What somebody else writes meanwhile is never
// overwritten. Filters are not read: that is the reload's.
// Blocking. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "conf/config.h"
#include "filter/file/temp_file.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {

// What is to be the file: written beside its place, so that the configuration can be read as it would be with it, and
// gone again unless it takes its place.
class DropInCandidate {
 public:
  // `former`: what it may replace, as it was read; by default nothing. Error, one line.
  static tl::expected<DropInCandidate, std::string> write(std::filesystem::path place, const std::string& text,
                                                          const filter::FormerFile& former = {});
  // `main`: as of DropInFile::replace(). Errors name the place.
  Loaded<conf::Config> settings(const std::filesystem::path& main) const;
  tl::expected<void, std::string> take_place();

 private:
  DropInCandidate(std::filesystem::path place, filter::TempFile file)
      : place_(std::move(place)), file_(std::move(file)) {}
  std::filesystem::path place_;
  filter::TempFile file_;
};

class DropInFile {
 public:
  // Error, one line: it is there, and cannot be read.
  static tl::expected<DropInFile, std::string> read(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::string& text() const { return text_; }  // that it had; empty where there is none

  // Replaces it; an empty text removes it. `main`: the configuration that includes it; empty: the one to which it
  // belongs by its place. `check` may refuse what the configuration would become. Error: nothing has changed.
  using Check = std::function<LoadFailure(const conf::Config& settings)>;  // its status is kExitDone where it may be
  Loaded<void> replace(const std::string& text, const std::filesystem::path& main, const Check& check);
  // After a reload that was refused: as it was before replace(). What was done, for people.
  std::string put_back() const;

 private:
  explicit DropInFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  filter::FormerFile former_;
  std::string text_, written_;
};

// Why the device would not be in its group: one that is asked before takes its address whoever uses it. Empty: it is.
std::string misplaced_device(const conf::Config& settings, const std::string& name);

}  // namespace bloomwall::proxy
