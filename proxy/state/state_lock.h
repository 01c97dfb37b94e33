// One process at a time changes a state folder: a lock of the kernel on "state.lock" in it, which ends with its process
// and is not inherited by programs that this one starts. (The lock on the folder itself is that of whoever replaces a
// file in it: filter/file/temp_file.h.)
// On file systems that know no such lock (NFS) everybody has it.
// Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "base/handles.h"

namespace bloomwall::proxy {

class StateLock {
 public:
  // False: another one has it, in this process or another. The folder must exist.
  bool take(const std::filesystem::path& folder);
  void release();
  bool is_held() const { return is_held_; }

 private:
  UniqueFd file_;
  bool is_held_ = false;
};

}  // namespace bloomwall::proxy
