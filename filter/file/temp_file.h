// A file that becomes visible under its name only when it is whole: written as ".NAME.XXXXXX.bwf-tmp" beside the
// target, then synced and renamed. A lock on it says that its writer lives; one without a lock is a leftover of a
// killed build and is removed by the next build of the same target. Where the file system keeps no locks, leftovers
// stay. Files that belong together, and those that replace what was read before they were made (FormerFile), are
// renamed under a lock on the folder, held only for the rename: of two commands that change the same file at the same
// time one fails. Permissions: a replacement gets owner, group, mode and access list of the file that it replaces, as
// if that had been written in place; a new file gets mode 0666 less the umask.
// Not thread-safe. Errors: io.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/handles.h"
#include "filter/file/mapped_file.h"

namespace bloomwall::filter {

// What is to be other than the rule above has it.
struct FileAccess {
  std::optional<mode_t> mode = {};  // permission bits, at most 0777
  std::optional<gid_t> group = {};
};

// What stood under a name when it was read; nothing: there was no file.
struct FormerFile {
  std::optional<FileStamp> stamp = {};
  static FormerFile of(const std::filesystem::path& path) { return {stamp_of(path)}; }
};

class TempFile {
 public:
  // Follows a symbolic link of ours or root's to where the target really is. The file is created with mode 0600, and
  // owner and group are set at once: that they can't be is an error before anything takes long.
  static Result<TempFile> create(const std::filesystem::path& target, const FileAccess& access = {});
  TempFile(TempFile&& other) noexcept;
  TempFile& operator=(TempFile&&) = delete;
  ~TempFile();  // removes the file unless it was committed

  int descriptor() const { return file_.get(); }
  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& target() const { return target_; }  // where it will really be
  // commit() replaces this and nothing else: an error where the target is another file by then, or was written to.
  void expect(const FormerFile& former) { former_ = former; }
  // Mode, access list and fsync: what takes time of a commit().
  Result<void> prepare();
  // prepare(), unless that was done, rename over the target, fsync of the folder. Waits up to 10 s for the lock.
  Result<void> commit();
  // Called under the lock: before the first file takes its place, and once all of them have.
  struct Around {
    std::function<void()> before = {};
    std::function<void()> after = {};
  };
  // Likewise of several files of one folder, in this order; none of them where one is not to be replaced.
  static Result<void> commit(std::span<TempFile* const> files, const Around& around);

 private:
  TempFile(std::filesystem::path target, std::filesystem::path path, UniqueFd file);
  Result<void> take_access(const FileAccess& access);
  Result<void> check_former() const;
  Result<void> replace();
  std::filesystem::path target_;
  std::filesystem::path path_;  // empty once committed
  UniqueFd file_;
  mode_t mode_ = 0;
  std::vector<char> access_list_;  // POSIX ACL as the kernel stores it; empty: none
  bool is_prepared_ = false;
  std::optional<FormerFile> former_;
};

// A small file, whole or not at all.
Result<void> replace_file(const std::filesystem::path& target, std::string_view content, const FileAccess& access = {},
                          const std::optional<FormerFile>& former = std::nullopt);

}  // namespace bloomwall::filter
