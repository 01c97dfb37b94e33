// SPDX-License-Identifier: Apache-2.0

#include "proxy/io/endpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

namespace bloomwall::proxy {

Endpoint Endpoint::from(const in_addr& v4, std::uint16_t port) {
  Endpoint result;
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr = v4;
  std::memcpy(&result.any_, &in, sizeof in);
  return result;
}

Endpoint Endpoint::from(const in6_addr& v6, std::uint16_t port) {
  Endpoint result;
  result.any_.sin6_family = AF_INET6;
  result.any_.sin6_port = htons(port);
  result.any_.sin6_addr = v6;
  return result;
}

Endpoint Endpoint::from(const IpAddress& address, std::uint16_t port) {
  in6_addr v6{};
  std::memcpy(&v6, address.octets.data(), address.octets.size());
  return from(v6, port);
}

IpAddress Endpoint::address() const {
  if (!is_v6()) return IpAddress::v4(ntohl(v4().s_addr));
  IpAddress address;
  std::memcpy(address.octets.data(), &v6(), address.octets.size());
  return address;
}

Endpoint Endpoint::from(const sockaddr* address) {
  Endpoint result;
  if (address == nullptr) return result;
  if (address->sa_family == AF_INET) {
    std::memcpy(&result.any_, address, sizeof(sockaddr_in));
  } else if (address->sa_family == AF_INET6) {
    std::memcpy(&result.any_, address, sizeof(sockaddr_in6));
  }
  return result;
}

std::optional<Endpoint> Endpoint::parse_ip(std::string_view text, std::uint16_t port) {
  const auto address = IpAddress::parse(text);
  if (!address) return std::nullopt;
  const Endpoint made = from(*address, port);
  return text.find(':') == std::string_view::npos ? made.unmapped() : made;
}

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.empty()) return from(in6addr_any, port);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = parse_ip(host, port);
  if (!address || address->is_v6() != bracketed) return std::nullopt;
  return address;
}

Endpoint Endpoint::with_port(std::uint16_t port) const {
  Endpoint result = *this;
  result.any_.sin6_port = htons(port);
  return result;
}

bool Endpoint::is_wildcard() const {
  if (is_v6()) return IN6_IS_ADDR_UNSPECIFIED(&v6());
  return v4().s_addr == INADDR_ANY;
}

Endpoint Endpoint::unmapped() const {
  if (!is_v6() || !IN6_IS_ADDR_V4MAPPED(&v6())) return *this;
  in_addr tail{};
  std::memcpy(&tail, v6().s6_addr + 12, sizeof tail);
  return from(tail, port());
}

std::string Endpoint::ip() const {
  const std::string text = address().text();
  return is_v6() && address().is_v4() ? "::ffff:" + text : text;
}

std::string Endpoint::text() const {
  const std::string host = is_v6() ? "[" + ip() + "]" : ip();
  return host + ":" + std::to_string(port());
}

bool Endpoint::same_ip(const Endpoint& other) const {
  if (is_v6() != other.is_v6()) return false;
  if (!is_v6()) return v4().s_addr == other.v4().s_addr;
  return std::memcmp(&v6(), &other.v6(), sizeof(in6_addr)) == 0 && any_.sin6_scope_id == other.any_.sin6_scope_id;
}

std::optional<Endpoint> local_end(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return std::nullopt;
  return Endpoint::from(reinterpret_cast<const sockaddr*>(&name));
}

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
  return ListeningSocket{.fd = std::move(fd), .address = *address, .is_passed = is_passed};
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
  return ListeningSocket{std::move(fd), socket.address, socket.path, socket.is_passed};
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
