// Any text as a file of hosts that are never decrypted: each line is an entry, an error with its line, or neither; what
// was taken is found again, and covers what it says.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "filter/url/canonical_url.h"
#include "proxy/access/host_lists.h"
#include "tests/fuzz/require.h"

using bloomwall::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> exact(data, data + size);
  bloomwall::proxy::NeverList list;
  std::vector<std::string> errors;
  list.add({exact.data(), exact.size()}, "f", errors);
  for (const std::string& error : errors) require(error.starts_with("f:"));
  bloomwall::filter::Canonicaliser canonicaliser;
  for (const auto* entry : list.entries()) {
    require(entry->line > 0 && entry->host.size() <= 253 + 2);
    const auto& canonical = canonicaliser.host(entry->host);
    require(canonical.has_canonical && canonical.host == entry->host);
    const auto* const found = list.find(entry->host);
    require(found != nullptr && found->host == entry->host);
    const bool is_name = canonical.host_kind == bloomwall::filter::HostKind::name;
    require(is_name || !entry->covers_subdomains);
    if (!entry->covers_subdomains) continue;
    const auto* const below = list.find("below-" + std::string(entry->host.size() % 7, 'x') + "." + entry->host);
    require(below != nullptr);
  }
  return 0;
}
