// Octets into a file at its offset, however many calls it takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace bloomwall::proxy {

// False: errno says why. Blocking.
inline bool write_all(int file, std::string_view octets) {
  while (!octets.empty()) {
    const ssize_t written = ::write(file, octets.data(), octets.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    octets.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace bloomwall::proxy
