// A file that becomes visible under its name only when it is whole: written as ".NAME.XXXXXX.bwf-tmp" beside the target,
// then synced and renamed. A lock on it says that its writer lives; one without a lock is a leftover of a killed build
// and is removed by the next build of the same target. Where the file system keeps no locks, leftovers stay.
// Who may read it: what replaces a file has its owner, group, mode and access list, as if it had been written in place; a
// new file gets what the process's umask leaves of 0666.
// Not thread-safe. Errors: io.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "filter/file/descriptor.h"

namespace bloomwall::filter {

// What is to be other than the rule above has it.
struct FileAccess {
  std::optional<mode_t> mode = {};  // permission bits, at most 0777
  std::optional<gid_t> group = {};
};

class TempFile {
 public:
  // Follows a symbolic link to where the target really is. The file is created with mode 0600, and owner and group are set
  // at once: that they can't be is an error before anything takes long.
  static Result<TempFile> create(const std::filesystem::path& target, const FileAccess& access = {});
  TempFile(TempFile&& other) noexcept;
  TempFile& operator=(TempFile&&) = delete;
  ~TempFile();  // removes the file unless it was committed

  int descriptor() const { return file_.get(); }
  const std::filesystem::path& path() const { return path_; }
  // Mode, access list and fsync: what takes time of a commit().
  Result<void> prepare();
  // prepare(), unless that was done, rename over the target, fsync of the folder.
  Result<void> commit();

 private:
  TempFile(std::filesystem::path target, std::filesystem::path path, Descriptor file);
  Result<void> take_access(const FileAccess& access);
  std::filesystem::path target_;
  std::filesystem::path path_;  // empty once committed
  Descriptor file_;
  mode_t mode_ = 0;
  std::vector<char> access_list_;  // POSIX ACL as the kernel stores it; empty: none
  bool is_prepared_ = false;
};

// A small file, whole or not at all.
Result<void> replace_file(const std::filesystem::path& target, std::string_view content, const FileAccess& access = {});

}  // namespace bloomwall::filter
