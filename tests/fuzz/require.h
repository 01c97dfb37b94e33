// What a fuzz target says must hold.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace bloomwall::fuzz {

// Ends the process, which the fuzzer reports with the input, where `holds` is false.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace bloomwall::fuzz
