// Any text as a map of safe search: it is refused with a line, or every host in it is canonical and is found with rules
// of engines that there are.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "filter/url/canonical_url.h"
#include "proxy/access/safe_search.h"
#include "tests/fuzz/require.h"

using bloomwall::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using bloomwall::proxy::SafeSearchMap;
  const std::vector<char> exact(data, data + size);
  const auto map = SafeSearchMap::parse({exact.data(), exact.size()});
  if (!map) {
    require(bloomwall::is_digit(map.error().front()) && map.error().find(": ") != std::string::npos);
    return 0;
  }
  require(map->engines().size() <= SafeSearchMap::kMostEngines && map->size() <= SafeSearchMap::kMostHosts);
  bloomwall::filter::Canonicaliser canonicaliser;
  for (const std::string& host : map->hosts()) {
    require(canonicaliser.host(host).host == host);
    const auto* const rules = map->find(host);
    require(rules != nullptr && !rules->empty() && rules->size() <= map->engines().size());
    for (const auto& rule : *rules) {
      require(rule.engine < map->engines().size());
      require(canonicaliser.host(rule.dialled).host == rule.dialled);
    }
  }
  return 0;
}
