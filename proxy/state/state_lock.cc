// SPDX-License-Identifier: Apache-2.0
#include "proxy/state/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace bloomwall::proxy {

bool StateLock::take(const std::filesystem::path& folder) {
  if (is_held_) return true;
  const std::filesystem::path file = folder / "state.lock";
  file_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  const bool is_taken = file_ && ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (is_taken) file_.reset();
  is_held_ = !is_taken;
  return is_held_;
}

void StateLock::release() {
  file_.reset();
  is_held_ = false;
}

}  // namespace bloomwall::proxy
