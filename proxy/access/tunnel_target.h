// Where requests inside a tunnel go.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "proxy/access/name_of.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

struct TunnelTarget {
  std::string_view host = {};  // canonical
  std::uint16_t port = 0;
  Scheme scheme = Scheme::http;   // https: in TLS that the proxy ends
  NameOf name = NameOf::connect;  // what `host` is
};

}  // namespace bloomwall::proxy
