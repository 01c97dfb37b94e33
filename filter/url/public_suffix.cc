// SPDX-License-Identifier: Apache-2.0
#include "filter/url/public_suffix.h"

#include <libpsl.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace bloomwall::filter {

bool is_public_suffix(std::string_view host) {
  // A longer name cannot be one, and libpsl wants a NUL at the end.
  constexpr std::size_t kLongest = 127;
  if (host.empty() || host.size() > kLongest) return false;
  std::array<char, kLongest + 1> text;
  *std::transform(host.begin(), host.end(), text.begin(), to_lower) = '\0';
  // Without the star rule: "intranet", unknown to the list, is no suffix.
  return psl_is_public_suffix2(psl_builtin(), text.data(), PSL_TYPE_ANY | PSL_TYPE_NO_STAR_RULE) != 0;
}

std::uint64_t public_suffix_time() {
  const auto made = psl_builtin_file_time();
  return made > 0 ? static_cast<std::uint64_t>(made) : 0;
}

}  // namespace bloomwall::filter
