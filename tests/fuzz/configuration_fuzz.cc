// Any bytes as a configuration: they load or are refused with errors that have a place inside the text; nothing else.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "conf/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto loaded = bloomwall::conf::load_text(text, "fuzz", "/etc/bloomwall");
  if (loaded) {
    if (loaded->listeners.empty() || loaded->workers > 1024) std::abort();
    return 0;
  }
  if (loaded.error().empty()) std::abort();
  for (const auto& error : loaded.error()) {
    if (error.what.empty() || error.line < 0 || error.text().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
