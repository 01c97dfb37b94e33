// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scripted_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace bloomwall::test {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

Deadline patience() { return std::chrono::steady_clock::now() + kPatience; }

// What of a long text is worth printing.
std::string shown(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, 400)) {
    const auto octet = static_cast<unsigned char>(c);
    if (c == '\r' || c == '\n') {
      out += c == '\r' ? "\\r" : "\\n";
    } else if (octet < 0x20 || octet > 0x7e) {
      std::array<char, 5> hex;
      std::snprintf(hex.data(), hex.size(), "\\x%02x", octet);
      out += hex.data();
    } else {
      out += c;
    }
  }
  return '"' + out + (bytes.size() > 400 ? "\"..." : "\"") + " (" + std::to_string(bytes.size()) + " octets)";
}

bool wait_for(int fd, short what, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{fd, what, 0};
    const int n = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n > 0) return true;
    if (n == 0) return false;
    if (errno != EINTR) throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
  }
}

sockaddr_storage address_of(const std::string& ip, std::uint16_t port, socklen_t& size) {
  sockaddr_storage storage{};
  if (ip.find(':') != std::string::npos) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr);
    size = sizeof v6;
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    inet_pton(AF_INET, ip.c_str(), &v4.sin_addr);
    size = sizeof v4;
  }
  return storage;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size);
  return ntohs(reinterpret_cast<sockaddr_in&>(name).sin_port);  // at the same place in both families
}

int new_socket(const std::string& ip) {
  const int fd = ::socket(ip.find(':') != std::string::npos ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error(std::string("socket: ") + std::strerror(errno));
  return fd;
}

}  // namespace

void Peer::fail(const std::string& what) const {
  throw std::runtime_error("scripted peer: " + what + "; unread: " + shown(unread_));
}

void Peer::expect(std::string_view bytes) {
  const Deadline deadline = patience();
  while (unread_.size() < bytes.size()) {
    if (unread_ != bytes.substr(0, unread_.size()) || !fill(deadline)) break;
  }
  if (!unread_.starts_with(bytes)) fail("expected " + shown(bytes));
  unread_.erase(0, bytes.size());
}

std::string Peer::read_exactly(std::size_t size) {
  const Deadline deadline = patience();
  while (unread_.size() < size) {
    if (!fill(deadline)) fail("closed before " + std::to_string(size) + " octets came");
  }
  std::string out = unread_.substr(0, size);
  unread_.erase(0, size);
  return out;
}

std::string Peer::read_until(std::string_view end) {
  const Deadline deadline = patience();
  std::size_t at = 0;
  while ((at = unread_.find(end)) == std::string::npos) {
    if (!fill(deadline)) fail("closed before " + shown(end));
  }
  return read_exactly(at + end.size());
}

std::string Peer::read_chunked(std::string* trailers) {
  std::string body;
  for (;;) {
    const std::string line = read_until("\r\n");
    const std::size_t size = std::stoul(line, nullptr, 16);
    if (size == 0) break;
    body += read_exactly(size);
    expect("\r\n");
  }
  for (std::string line = read_until("\r\n"); line != "\r\n"; line = read_until("\r\n")) {
    if (trailers != nullptr) *trailers += line;
  }
  return body;
}

std::string Peer::read_to_end() {
  const Deadline deadline = patience();
  while (fill(deadline)) {
  }
  return std::exchange(unread_, {});
}

void Peer::expect_end() {
  if (const std::string rest = read_to_end(); !rest.empty()) fail("expected the end, got " + shown(rest));
}

ScriptedPeer::ScriptedPeer(int fd) : fd_(fd) {
  const timeval most{.tv_sec = std::chrono::ceil<std::chrono::seconds>(kPatience).count(), .tv_usec = 0};
  for (const int way : {SO_RCVTIMEO, SO_SNDTIMEO}) ::setsockopt(fd_, SOL_SOCKET, way, &most, sizeof most);
}

ScriptedPeer ScriptedPeer::connect(std::uint16_t port, const std::string& ip) { return made({}, port, ip); }

ScriptedPeer ScriptedPeer::connect_from(const std::string& own_ip, std::uint16_t port, const std::string& ip) {
  return made(own_ip, port, ip);
}

ScriptedPeer ScriptedPeer::made(const std::string& own_ip, std::uint16_t port, const std::string& ip) {
  ScriptedPeer peer(new_socket(ip));
  socklen_t size = 0;
  if (!own_ip.empty()) {
    const sockaddr_storage from = address_of(own_ip, 0, size);
    if (::bind(peer.fd_, reinterpret_cast<const sockaddr*>(&from), size) != 0) {
      peer.fail(std::string("bind: ") + std::strerror(errno));
    }
  }
  const sockaddr_storage to = address_of(ip, port, size);
  if (::connect(peer.fd_, reinterpret_cast<const sockaddr*>(&to), size) != 0) {
    peer.fail(std::string("connect: ") + std::strerror(errno));
  }
  const int on = 1;
  ::setsockopt(peer.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return peer;
}

ScriptedPeer::ScriptedPeer(ScriptedPeer&& other) noexcept : fd_(std::exchange(other.fd_, -1)), ended_(other.ended_) {
  unread_ = std::move(other.unread_);
}

ScriptedPeer& ScriptedPeer::operator=(ScriptedPeer&& other) noexcept {
  close();
  fd_ = std::exchange(other.fd_, -1);
  unread_ = std::move(other.unread_);
  ended_ = other.ended_;
  return *this;
}

ScriptedPeer::~ScriptedPeer() { close(); }

void ScriptedPeer::send(std::string_view bytes) {
  const Deadline deadline = patience();
  while (!bytes.empty()) {
    if (!wait_for(fd_, POLLOUT, deadline)) fail("cannot send, the other side does not read");
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail(std::string("send: ") + std::strerror(errno));
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void ScriptedPeer::send_in_pieces(std::string_view bytes, std::size_t piece) {
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) send(bytes.substr(0, piece));
}

void ScriptedPeer::await_news(Deadline deadline) const {
  if (!wait_for(fd_, POLLIN, deadline)) fail("nothing came in time");
}

bool ScriptedPeer::fill(Deadline deadline) {
  if (ended_) return false;
  await_news(deadline);
  std::array<char, 65536> piece;
  const ssize_t n = ::recv(fd_, piece.data(), piece.size(), 0);
  if (n < 0) fail(std::string("recv: ") + std::strerror(errno));
  if (n == 0) ended_ = true;
  if (n > 0) unread_.append(piece.data(), static_cast<std::size_t>(n));
  return n > 0;
}

void ScriptedPeer::expect_reset() {
  if (!wait_for(fd_, POLLIN, patience())) fail("expected a reset, nothing came");
  std::array<char, 4096> piece;
  ssize_t n = 0;
  while ((n = ::recv(fd_, piece.data(), piece.size(), 0)) > 0) {
  }
  if (n == 0 || errno != ECONNRESET)
    fail("expected a reset, got " + std::string(n == 0 ? "an end" : std::strerror(errno)));
}

bool ScriptedPeer::is_quiet_for(std::chrono::milliseconds time) {
  return unread_.empty() && !wait_for(fd_, POLLIN, std::chrono::steady_clock::now() + time);
}

void ScriptedPeer::shut_write() { ::shutdown(fd_, SHUT_WR); }

void ScriptedPeer::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void ScriptedPeer::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::uint16_t ScriptedPeer::local_port() const { return port_of(fd_); }

ScriptedListener::ScriptedListener(const std::string& ip) : fd_(new_socket(ip)), ip_(ip) {
  const int on = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = 0;
  const sockaddr_storage at = address_of(ip, 0, size);
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&at), size) != 0 || ::listen(fd_, 64) != 0) {
    throw std::runtime_error("cannot listen on " + ip + ": " + std::strerror(errno));
  }
  port_ = port_of(fd_);
}

ScriptedListener::~ScriptedListener() { close(); }

void ScriptedListener::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

ScriptedPeer ScriptedListener::accept() {
  if (!wait_for(fd_, POLLIN, patience())) throw std::runtime_error("scripted listener: nobody came in time");
  return ScriptedPeer(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
}

bool ScriptedListener::nobody_comes_for(std::chrono::milliseconds time) {
  return !wait_for(fd_, POLLIN, std::chrono::steady_clock::now() + time);
}

bool ScriptedListener::speaks_first(const ScriptedPeer& other) const {
  std::array<pollfd, 2> ways{pollfd{fd_, POLLIN, 0}, pollfd{other.fd(), POLLIN, 0}};
  while (::poll(ways.data(), ways.size(), static_cast<int>(kPatience.count())) < 0 && errno == EINTR) {
  }
  char first = 0;
  return ways[0].revents == 0 && ::recv(other.fd(), &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

std::string ScriptedListener::authority() const {
  return (ip_.find(':') != std::string::npos ? "[" + ip_ + "]" : ip_) + ":" + std::to_string(port_);
}

std::uint16_t closed_port() {
  // Bound, and never told to listen: connections are refused, and the kernel gives the port to no other test.
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::system_error(errno, std::generic_category(), "no closed port");
  }
  return ntohs(address.sin_port);
}

}  // namespace bloomwall::test
