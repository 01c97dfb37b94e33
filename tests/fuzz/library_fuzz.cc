// Programs that call libbloomwall in any order, over files that are whole, torn, random, replaced and cut.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "tests/library/random_calls.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bloomwall::library::RandomFiles files;
  bloomwall::library::RandomCalls(files, {data, size}).run();
  return 0;
}
