// A listening TCP socket: one of several that share an address, over which the kernel spreads connections, or one that
// somebody else opened and keeps open. What is accepted from either has TCP_NODELAY, which Linux passes on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "proxy/io/endpoint.h"
#include "proxy/io/handles.h"

namespace bloomwall::proxy {

inline constexpr int kListenBacklog = 4096;  // connections that may wait in one queue

struct ListeningSocket {
  UniqueFd fd;
  Endpoint address;        // with the port the kernel chose where 0 was asked for
  bool is_passed = false;  // its queue outlives us: who waits there when we close is served by whoever comes next
};
// Non-blocking, SO_REUSEPORT, close-on-exec. The wildcard of IPv6 also takes IPv4; where the machine has no IPv6, the
// wildcard is IPv4's. Error: what the system says.
tl::expected<ListeningSocket, std::string> listen_on(const Endpoint& address);
// Takes over a socket that was opened by whoever started us; makes it as above. Error: what it is not.
tl::expected<ListeningSocket, std::string> take_over(UniqueFd fd);
// Another descriptor of the same queue.
tl::expected<ListeningSocket, std::string> share(const ListeningSocket& socket);
// Whether nobody listens there yet. SO_REUSEPORT alone would let a second process of the same user take half of the
// connections of the first without a word.
tl::expected<void, std::string> check_free(const Endpoint& address);

}  // namespace bloomwall::proxy
