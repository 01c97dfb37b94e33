// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace bloomwall::proxy {

bool StateLock::take(const std::filesystem::path& folder) {
  if (is_held_) return true;
  folder_.reset(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool is_taken = folder_ && ::flock(folder_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (is_taken) folder_.reset();
  is_held_ = !is_taken;
  return is_held_;
}

void StateLock::release() {
  folder_.reset();
  is_held_ = false;
}

}  // namespace bloomwall::proxy
