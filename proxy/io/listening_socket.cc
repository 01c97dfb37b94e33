// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/listening_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace bloomwall::proxy {
namespace {

constexpr int kBacklog = 4096;

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

}  // namespace

tl::expected<ListeningSocket, std::string> listen_on(const Endpoint& address) {
  auto fd = bound_or_v4(address, true);
  if (!fd) return failure(fd.error());
  if (::listen(fd->get(), kBacklog) != 0) return failure(errno);
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(fd->get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return failure(errno);
  return ListeningSocket{*std::move(fd), Endpoint::from(reinterpret_cast<const sockaddr*>(&name))};
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
