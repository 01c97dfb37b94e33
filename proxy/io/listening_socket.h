// A listening TCP socket: one of several with SO_REUSEPORT, among which the kernel distributes connections, or one that
// was passed by the service manager. Accepted sockets inherit TCP_NODELAY from it (Linux).
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
  bool is_passed = false;  // its queue outlives this process: the next one serves the clients left in it
};
// Non-blocking, SO_REUSEPORT, close-on-exec. The wildcard of IPv6 also takes IPv4; where the machine has no IPv6, the
// wildcard is IPv4's. Error: what the system says.
tl::expected<ListeningSocket, std::string> listen_on(const Endpoint& address);
// Takes over a socket that was passed by the parent process, and sets the options above. Error: why it is not a
// listening TCP socket.
tl::expected<ListeningSocket, std::string> take_over(UniqueFd fd);
// Another descriptor of the same queue.
tl::expected<ListeningSocket, std::string> share(const ListeningSocket& socket);
// Whether no process listens there yet. With SO_REUSEPORT alone, bind() of a second process of the same user would
// succeed and silently take half of the connections.
tl::expected<void, std::string> check_free(const Endpoint& address);

}  // namespace bloomwall::proxy
