// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <sys/random.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <stdexcept>

namespace bloomwall {

void fill_random(std::span<std::uint8_t> octets) {
  while (!octets.empty()) {
    const ssize_t given = ::getrandom(octets.data(), octets.size(), 0);
    if (given < 0 && errno == EINTR) continue;  // a signal while it waits, or within a long answer
    if (given <= 0) throw std::runtime_error("getrandom: the system gives no random octets");
    octets = octets.subspan(static_cast<std::size_t>(given));
  }
}

}  // namespace bloomwall
