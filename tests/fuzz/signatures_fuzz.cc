// Hostile bytes as a section of signatures: what is accepted is what is written again.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "filter/file/signature.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::filter;
  const auto section = std::as_bytes(std::span(data, size));
  const auto parsed = parse_signatures(section);
  if (parsed && !std::ranges::equal(serialise_signatures(*parsed), section)) std::abort();
  return 0;
}
