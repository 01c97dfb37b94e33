// A file that becomes visible under its name only when it is whole: written as ".NAME.XXXXXX.bwf-tmp" beside the target,
// then synced and renamed. A lock on it says that its writer lives; one without a lock is a leftover of a killed build
// and is removed by the next build of the same target.
// Not thread-safe. Errors: io.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "filter/file/descriptor.h"

namespace bloomwall::filter {

class TempFile {
 public:
  // Follows a symbolic link to where the target really is. The file is created with mode 0600.
  static Result<TempFile> create(const std::filesystem::path& target);
  TempFile(TempFile&& other) noexcept;
  TempFile& operator=(TempFile&&) = delete;
  ~TempFile();  // removes the file unless it was committed

  int descriptor() const { return file_.get(); }
  const std::filesystem::path& path() const { return path_; }
  // Mode 0640 and fsync: what takes time of a commit().
  Result<void> prepare();
  // prepare(), unless that was done, rename over the target, fsync of the folder.
  Result<void> commit();

 private:
  TempFile(std::filesystem::path target, std::filesystem::path path, Descriptor file);
  std::filesystem::path target_;
  std::filesystem::path path_;  // empty once committed
  Descriptor file_;
  bool is_prepared_ = false;
};

// A small file, whole or not at all.
Result<void> replace_file(const std::filesystem::path& target, std::string_view content);

}  // namespace bloomwall::filter
