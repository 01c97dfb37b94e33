// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/listening_socket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace bloomwall::proxy {
namespace {

tl::unexpected<std::string> failure(int error) { return tl::unexpected(std::generic_category().message(error)); }

tl::expected<UniqueFd, int> bound(Endpoint address, bool shared) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return tl::unexpected(errno);
  const int on = 1, off = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (shared && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return tl::unexpected(errno);
  if (address.is_v6()) {
    const int only_v6 = address.is_wildcard() ? off : on;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
  }
  if (::bind(fd.get(), address.raw(), address.raw_size()) != 0) return tl::unexpected(errno);
  return fd;
}

tl::expected<UniqueFd, int> bound_or_v4(const Endpoint& address, bool shared) {
  auto fd = bound(address, shared);
  const bool no_v6 = !fd && (fd.error() == EAFNOSUPPORT || fd.error() == EADDRNOTAVAIL);
  if (!no_v6 || !address.is_v6() || !address.is_wildcard()) return fd;
  return bound(Endpoint().with_port(address.port()), shared);
}

int option_of(const UniqueFd& fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd.get(), SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// Of one that listens.
tl::expected<ListeningSocket, std::string> complete(UniqueFd fd, bool is_passed) {
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto address = local_end(fd.get());
  if (!address) return failure(errno);
  return ListeningSocket{std::move(fd), *address, is_passed};
}

}  // namespace

tl::expected<ListeningSocket, std::string> listen_on(const Endpoint& address) {
  auto fd = bound_or_v4(address, true);
  if (!fd) return failure(fd.error());
  if (::listen(fd->get(), kListenBacklog) != 0) return failure(errno);
  return complete(*std::move(fd), false);
}

tl::expected<ListeningSocket, std::string> take_over(UniqueFd fd) {
  const int family = option_of(fd, SO_DOMAIN);
  if (family != AF_INET && family != AF_INET6) return tl::unexpected(std::string("no TCP socket"));
  if (option_of(fd, SO_TYPE) != SOCK_STREAM) return tl::unexpected(std::string("no TCP socket"));
  if (option_of(fd, SO_ACCEPTCONN) != 1) return tl::unexpected(std::string("a socket that does not listen"));
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) return failure(errno);
  if (::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) return failure(errno);
  return complete(std::move(fd), true);
}

tl::expected<ListeningSocket, std::string> share(const ListeningSocket& socket) {
  UniqueFd fd(::fcntl(socket.fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd) return failure(errno);
  return ListeningSocket{std::move(fd), socket.address, socket.is_passed};
}

tl::expected<void, std::string> check_free(const Endpoint& address) {
  if (address.port() == 0) return {};
  const auto fd = bound_or_v4(address, false);
  if (!fd) return failure(fd.error());
  // Bound is not enough: with SO_REUSEADDR a bind succeeds beside a socket that listens on another of our addresses.
  if (::listen(fd->get(), 1) != 0) return failure(errno);
  return {};
}

}  // namespace bloomwall::proxy
