// Section E from anywhere: what is taken is in order and comes back the same.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "filter/file/exceptions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::filter;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto parsed = Exceptions::parse(bytes);
  if (!parsed) return 0;
  const auto again = serialise_exceptions(parsed->all());
  if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) std::abort();
  for (const Exception& e : parsed->all()) {
    if (parsed->of(e.key) != e.kinds) std::abort();
  }
  return 0;
}
