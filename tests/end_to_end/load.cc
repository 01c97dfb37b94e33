// SPDX-License-Identifier: Apache-2.0
#include "tests/end_to_end/load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

namespace bloomwall::test {
namespace {

constexpr int kPatienceMs = 60'000;  // no answer for so long is a failure

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

bool send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Reads until the blank line; returns the head, leaves what came after it in `rest`.
std::optional<std::string> read_head(int fd, std::string& rest) {
  std::array<char, 16384> buffer{};
  for (;;) {
    if (const auto end = rest.find("\r\n\r\n"); end != std::string::npos) {
      std::string head = rest.substr(0, end + 4);
      rest.erase(0, end + 4);
      return head;
    }
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, kPatienceMs) != 1) return std::nullopt;
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return std::nullopt;
    rest.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::string get_request(const std::string& url, const std::string& fields) {
  const auto host = url.substr(7, url.find('/', 7) - 7);
  return "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

void watch(int epoll, int fd, std::uint32_t events, int operation = EPOLL_CTL_ADD) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll, operation, fd, &event);
}

}  // namespace

EchoServer::EchoServer()
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(listener_, 1024) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("echo server cannot listen");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

EchoServer::~EchoServer() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
  ::close(stop_);
  ::close(listener_);
}

void EchoServer::serve() {
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  watch(epoll, listener_, EPOLLIN);
  watch(epoll, stop_, EPOLLIN);
  std::vector<int> open;
  std::array<char, 65536> buffer{};
  for (bool running = true; running;) {
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_wait(epoll, events.data(), events.size(), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == stop_) {
        running = false;
      } else if (fd == listener_) {
        open.push_back(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
        watch(epoll, open.back(), EPOLLIN);
      } else if (const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
                 n <= 0 || !send_all(fd, {buffer.data(), static_cast<std::size_t>(n)})) {
        watch(epoll, fd, 0, EPOLL_CTL_DEL);
        ::shutdown(fd, SHUT_RDWR);
      }
    }
  }
  for (const int fd : open) ::close(fd);
  ::close(epoll);
}

Load::Load(LoadPlan plan) : plan_(std::move(plan)) {
  threads_.emplace_back([this] { run_clients(); });
  threads_.emplace_back([this] { run_tunnels(); });
  if (plan_.big_bytes > 0) threads_.emplace_back([this] { run_download(); });
}

Load::~Load() { stop(); }

LoadReport Load::stop() {
  stopping_ = true;
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  return so_far();
}

LoadReport Load::so_far() {
  const std::lock_guard lock(mutex_);
  return report_;
}

void Load::fail(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++report_.failure_count;
  if (report_.failures.size() < 10) report_.failures.push_back(what);
}

// Every client asks again as soon as it has its answer; each answer is read whole before the next is waited for.
void Load::run_clients() {
  const std::string request = get_request(plan_.small_url, plan_.fields);
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::pair<int, std::string>> clients;  // socket, what it has of its answer
  for (unsigned i = 0; i < plan_.clients; ++i) {
    const int fd = connect_to(plan_.proxy);
    if (fd < 0) return fail(std::string("client cannot connect: ") + std::strerror(errno));
    clients.emplace_back(fd, "");
    if (!send_all(fd, request)) fail("client cannot send");
  }
  const auto wait_for = [&](std::size_t i) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].first, &event);
  };
  for (std::size_t i = 0; i < clients.size(); ++i) wait_for(i);
  std::array<char, 65536> buffer{};
  for (std::size_t waiting = clients.size(); waiting > 0;) {
    std::array<epoll_event, 256> events{};
    const int count = ::epoll_wait(epoll, events.data(), events.size(), kPatienceMs);
    if (count <= 0) return fail(std::to_string(waiting) + " clients wait for an answer");
    for (int i = 0; i < count; ++i) {
      const std::size_t number = events[static_cast<std::size_t>(i)].data.u64;
      auto& [fd, got] = clients[number];
      const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
      if (n <= 0) {
        fail(std::string("client lost its connection: ") + (n == 0 ? "closed" : std::strerror(errno)));
        ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
        --waiting;
        continue;
      }
      got.append(buffer.data(), static_cast<std::size_t>(n));
      const auto head = got.find("\r\n\r\n");
      if (head == std::string::npos || got.size() < head + 4 + plan_.small_body.size()) continue;
      if (!got.starts_with("HTTP/1.1 200 ") || got.compare(head + 4, std::string::npos, plan_.small_body) != 0) {
        fail("wrong answer: " + got.substr(0, 300));
      }
      const bool closes = plan_.reconnects && got.substr(0, head).find("\r\nConnection: close") != std::string::npos;
      got.clear();
      if (closes) {
        ::close(fd);
        fd = connect_to(plan_.proxy);
        if (fd < 0) return fail(std::string("client cannot connect again: ") + std::strerror(errno));
        wait_for(number);
      }
      const std::lock_guard lock(mutex_);
      ++report_.requests;
      if (stopping_ || !send_all(fd, request)) {
        ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr);
        --waiting;
      }
    }
  }
  for (const auto& client : clients) ::close(client.first);
  ::close(epoll);
}

// Each tunnel keeps one block under way: sends it, reads its echo, compares.
void Load::run_tunnels() {
  constexpr std::size_t kBlock = 16384;
  const std::string connect =
      "CONNECT " + plan_.echo_authority + " HTTP/1.1\r\nHost: " + plan_.echo_authority + "\r\n" + plan_.fields + "\r\n";
  struct Tunnel {
    int fd;
    std::uint64_t sent = 0, received = 0;
  };
  std::vector<Tunnel> tunnels;
  std::array<char, kBlock> buffer{};
  const auto send_block = [&](Tunnel& tunnel) {
    for (std::size_t i = 0; i < kBlock; ++i) buffer[i] = static_cast<char>(pattern(tunnel.sent + i));
    tunnel.sent += kBlock;
    if (!send_all(tunnel.fd, {buffer.data(), kBlock})) fail("tunnel cannot send");
  };
  std::vector<pollfd> ready;
  for (unsigned i = 0; i < plan_.tunnels; ++i) {
    std::string rest;
    Tunnel tunnel{connect_to(plan_.proxy)};
    if (tunnel.fd < 0 || !send_all(tunnel.fd, connect)) return fail("tunnel cannot connect");
    const auto head = read_head(tunnel.fd, rest);
    if (!head || !head->starts_with("HTTP/1.1 200") || !rest.empty())
      return fail("no tunnel: " + head.value_or("no answer"));
    send_block(tunnel);
    tunnels.push_back(tunnel);
    ready.push_back({tunnel.fd, POLLIN, 0});
  }
  for (std::size_t open = tunnels.size(); open > 0;) {
    if (::poll(ready.data(), ready.size(), kPatienceMs) <= 0) return fail("no tunnel moves");
    for (std::size_t i = 0; i < tunnels.size(); ++i) {
      if ((ready[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      Tunnel& tunnel = tunnels[i];
      const ssize_t n = ::recv(tunnel.fd, buffer.data(), buffer.size(), 0);
      bool right = n > 0;
      for (ssize_t k = 0; k < n; ++k) {
        right = right && static_cast<unsigned char>(buffer[static_cast<std::size_t>(k)]) ==
                             pattern(tunnel.received + static_cast<std::uint64_t>(k));
      }
      if (!right) fail(n > 0 ? "a byte changed in a tunnel" : "tunnel lost");
      if (n > 0) tunnel.received += static_cast<std::uint64_t>(n);
      if (right && tunnel.received == tunnel.sent && !stopping_) send_block(tunnel);
      if (!right || tunnel.received == tunnel.sent) {
        ready[i].fd = -1;
        --open;
      }
    }
  }
  for (const auto& tunnel : tunnels) {
    ::close(tunnel.fd);
    const std::lock_guard lock(mutex_);
    report_.tunnel_bytes += tunnel.received;
  }
}

void Load::run_download() {
  const int fd = connect_to(plan_.proxy);
  std::string rest;
  if (fd < 0 || !send_all(fd, get_request(plan_.big_url, plan_.fields))) return fail("download cannot start");
  const auto head = read_head(fd, rest);
  if (!head || !head->starts_with("HTTP/1.1 200 ")) return fail("no download: " + head.value_or("no answer"));
  std::uint64_t received = 0;
  const auto check = [&](const char* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i, ++received) {
      if (static_cast<unsigned char>(data[i]) != pattern(received))
        return fail("a byte changed at " + std::to_string(received));
    }
  };
  check(rest.data(), rest.size());
  std::vector<char> buffer(1 << 20);
  while (received < plan_.big_bytes) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) {
      fail("download cut at " + std::to_string(received));
      break;
    }
    check(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  const std::lock_guard lock(mutex_);
  report_.download_bytes = received;
}

}  // namespace bloomwall::test
