// Any bytes as the configuration of another proxy: what is written loads as a configuration, or says where it does not.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "conf/config.h"
#include "proxy/import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bloomwall;
  std::string text(reinterpret_cast<const char*>(data), size);
  // Paths that it names would make the outcome depend on the machine.
  for (char& c : text) {
    if (c == '/') c = '|';
  }
  const proxy::foreign::ImportResult result = proxy::foreign::import_texts({{"fuzz", text}});
  const auto written = result.files.find("bloomwall.yaml");
  if (written == result.files.end()) std::abort();
  const auto config = conf::load_text(written->second, "written");
  if (!config && config.error().empty()) std::abort();
  return 0;
}
