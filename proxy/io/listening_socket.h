// A listening TCP socket, one of several that share an address: the kernel spreads connections over them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "proxy/io/endpoint.h"
#include "proxy/io/handles.h"

namespace bloomwall::proxy {

struct ListeningSocket {
  UniqueFd fd;
  Endpoint address;  // with the port the kernel chose where 0 was asked for
};
// Non-blocking, SO_REUSEPORT, close-on-exec. The wildcard of IPv6 also takes IPv4; where the machine has no IPv6, the
// wildcard is IPv4's. Error: what the system says.
tl::expected<ListeningSocket, std::string> listen_on(const Endpoint& address);
// Whether nobody listens there yet. SO_REUSEPORT alone would let a second process of the same user take half of the
// connections of the first without a word.
tl::expected<void, std::string> check_free(const Endpoint& address);

}  // namespace bloomwall::proxy
