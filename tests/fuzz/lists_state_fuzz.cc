// lists.json from anywhere: what is taken keeps its limits, names no file outside of its folder, and reads back as it
// is written. Also lines that may say when a list expires.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "proxy/update/due.h"
#include "proxy/update/lists_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::proxy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expires = expiry_of_line(text);
  if (expires && (*expires <= 0 || *expires > kMostExpiry)) std::abort();
  const auto state = parse_lists_state(text);
  if (!state) {
    if (state.error().empty()) std::abort();
    return 0;
  }
  for (const ListFilterState& filter : state->filters) {
    for (const SourceState& source : filter.sources) {
      if (source.copy.find('/') != std::string::npos || source.copy.starts_with('.')) std::abort();
      if (source.message.size() > kMostStateText) std::abort();
    }
  }
  const auto again = parse_lists_state(lists_state_text(*state));
  if (!again || *again != *state) std::abort();
  return 0;
}
