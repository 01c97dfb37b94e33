// The parent proxy as compiled from `upstream:`: where it is, how it is spoken to, and which hosts do without it.
// Immutable, a part of the snapshot: a reload reads credentials and authorities again. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_set>
#include <vector>

#include "conf/config.h"
#include "proxy/access/access_rules.h"
#include "proxy/tls/tls_context.h"

namespace bloomwall::proxy {

// Hosts that are dialled directly. Domains cover what is below them; networks are about hosts that are addresses.
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

struct ParentProxy {
  std::string host;  // a name in lower case, or an address without brackets
  std::uint16_t port = 0;
  TlsContextPtr tls;          // nullptr: plain
  std::string authorization;  // value of Proxy-Authorization; empty: the client's own is passed on
  BypassList bypass;

  // Nothing without upstream.parent. Reads ca_file and credentials_file. Error: one line that begins with the key.
  static tl::expected<std::optional<ParentProxy>, std::string> compile(const conf::Upstream& upstream);
};

}  // namespace bloomwall::proxy
