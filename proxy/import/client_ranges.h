// The addresses of clients as Squid and squidGuard write them: an address, a network by prefix or by mask, a range (of
// networks, too: "10.0.4.0-10.0.7.0/24" ends with the last address of 10.0.7.0/24), or everybody. Bits beyond a prefix
// do not count, as in both programs: "192.168.1.1/24" is the network around it.
// Pure. Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "filter/url/address_range.h"

namespace bloomwall::proxy::foreign {

// Of everybody the halves of both address families, since no range has all addresses. Nothing: it is none of these.
std::optional<std::vector<filter::AddressRange>> client_ranges(std::string_view word);

}  // namespace bloomwall::proxy::foreign
