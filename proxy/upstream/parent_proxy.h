// The parent proxy as compiled from `upstream:`: where it is, how it is spoken to, and which hosts do without it.
// Immutable, a part of the snapshot: a reload reads credentials and authorities again. Thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "conf/config.h"
#include "proxy/access/host_lists.h"
#include "proxy/tls/tls_context.h"

namespace bloomwall::proxy {

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
