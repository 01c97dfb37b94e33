// Any bytes as a catalogue: each list that is taken makes a file of filters that loads; else there are errors.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "conf/catalogue.h"
#include "conf/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall::conf;
  const auto lists = parse_catalogue({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!lists) {
    if (lists.error().empty()) std::abort();
    return 0;
  }
  for (const ListedSource& list : *lists) {
    const auto made = load_text(filter_file_text(list, "/f.bwf"), "made");
    if (!made || made->filters.size() != 1 || made->filters.front().sources.front().url != list.url) std::abort();
  }
  return 0;
}
