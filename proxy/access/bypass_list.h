// Hosts to which a rule does not apply: `upstream.bypass`, `authentication.exempt_hosts`. Domains cover what is below
// them; networks are about hosts that are addresses. Immutable once built, thread-safe; contains(): one hash probe a
// label.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_set>
#include <vector>

#include "proxy/access/access_rules.h"

namespace bloomwall::proxy {

class BypassList {
 public:
  static tl::expected<BypassList, std::string> build(
      const std::vector<std::string>& entries);  // error: the wrong entry
  bool contains(std::string_view host) const;    // canonical; O(labels)

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_set<std::string, Hash, std::equal_to<>> domains_;
  CidrSet networks_;
};

}  // namespace bloomwall::proxy
