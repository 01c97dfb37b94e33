// An IP address with a port: the value form of a sockaddr, for listeners, clients and origins. 28 bytes,
// trivially copyable, no allocation. IPv4 and IPv6 only; scope ids are kept (link-local listeners need them).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/ip.h"
#include "proxy/io/handles.h"

namespace bloomwall::proxy {

class Endpoint {
 public:
  Endpoint() = default;                           // 0.0.0.0:0
  static Endpoint from(const sockaddr* address);  // AF_INET or AF_INET6, else 0.0.0.0:0
  static Endpoint from(const in_addr& v4, std::uint16_t port);
  static Endpoint from(const in6_addr& v6, std::uint16_t port);
  static Endpoint from(const IpAddress& address, std::uint16_t port);  // of IPv6, also where that holds IPv4

  // "1.2.3.4" or "::1" (no brackets, no zone), as base/ip.h reads it; the family is that of the text.
  static std::optional<Endpoint> parse_ip(std::string_view text, std::uint16_t port = 0);
  // "1.2.3.4:80", "[::1]:80" or ":80" (every address of both families, dual stack).
  static std::optional<Endpoint> parse(std::string_view text);

  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&any_); }
  socklen_t raw_size() const { return is_v6() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in); }
  int family() const { return any_.sin6_family; }
  bool is_v6() const { return any_.sin6_family == AF_INET6; }
  const in_addr& v4() const { return reinterpret_cast<const sockaddr_in*>(&any_)->sin_addr; }
  const in6_addr& v6() const { return any_.sin6_addr; }
  std::uint16_t port() const { return ntohs(any_.sin6_port); }  // at the same place in both families
  Endpoint with_port(std::uint16_t port) const;
  bool is_wildcard() const;   // 0.0.0.0 or ::
  Endpoint unmapped() const;  // ::ffff:1.2.3.4 as 1.2.3.4, anything else as it is

  IpAddress address() const;  // the same for both ways to hold IPv4
  std::string ip() const;     // "1.2.3.4" or "::1"
  std::string text() const;   // "1.2.3.4:80" or "[::1]:80"
  bool same_ip(const Endpoint& other) const;
  friend bool operator==(const Endpoint& a, const Endpoint& b) { return a.port() == b.port() && a.same_ip(b); }

 private:
  sockaddr_in6 any_{.sin6_family = AF_INET, .sin6_port = 0, .sin6_flowinfo = 0, .sin6_addr = {}, .sin6_scope_id = 0};
};

// The address that this end of a socket has; nothing, and errno says why, where it has none.
std::optional<Endpoint> local_end(int socket);

// A listening socket, TCP but where it has a path: one of several with SO_REUSEPORT, among which the kernel distributes
// connections, or one that was passed by the service manager. Accepted sockets inherit TCP_NODELAY from it (Linux).

inline constexpr int kListenBacklog = 4096;  // connections that may wait in one queue

struct ListeningSocket {
  UniqueFd fd;
  Endpoint address;        // with the port the kernel chose where 0 was asked for
  std::string path = {};   // of a unix socket, which has no address; empty: TCP
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
