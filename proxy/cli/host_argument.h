// A host as commands take it from people: a name or an address, with or without a port, or a URL on it.
// Thread: any; one object a thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "filter/url/canonical_url.h"

namespace bloomwall::proxy {

struct HostArgument {
  std::string host;  // canonical, with brackets around IPv6
  std::uint16_t port = 443;
};

class HostArgumentReader {
 public:
  tl::expected<HostArgument, const char*> read(std::string_view raw);  // error: why it is none

 private:
  filter::Canonicaliser canonicaliser_;
};

}  // namespace bloomwall::proxy
