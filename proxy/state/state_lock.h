// One process at a time changes a state folder: a lock of the kernel on the folder itself, which ends with its process
// and is not inherited by programs that this one starts.
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
  UniqueFd folder_;
  bool is_held_ = false;
};

}  // namespace bloomwall::proxy
