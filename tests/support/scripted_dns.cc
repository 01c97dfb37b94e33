// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scripted_dns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

namespace bloomwall::test {
namespace {

constexpr int kTypeA = 1, kTypeCname = 5, kTypeAaaa = 28;
constexpr std::size_t kHeaderBytes = 12;

void put16(std::string& out, unsigned value) {
  out.push_back(static_cast<char>(value >> 8U));
  out.push_back(static_cast<char>(value & 0xffU));
}

std::string encoded(const std::string& name) {
  std::string out;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    out.push_back(static_cast<char>(dot - at));
    out += name.substr(at, dot - at);
    at = dot + 1;
  }
  out.push_back('\0');
  return out;
}

std::string record_of(const std::string& owner, unsigned type, std::uint32_t ttl, const std::string& data) {
  std::string out = owner;
  put16(out, type);
  put16(out, 1);
  put16(out, ttl >> 16U);
  put16(out, ttl & 0xffffU);
  put16(out, static_cast<unsigned>(data.size()));
  return out + data;
}

}  // namespace

ScriptedDns::ScriptedDns() {
  for (int attempt = 0; attempt < 50; ++attempt) {  // until TCP has the port that UDP was given
    fd_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    tcp_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&at), size) == 0 &&
        ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size) == 0 &&
        ::bind(tcp_, reinterpret_cast<const sockaddr*>(&at), size) == 0 && ::listen(tcp_, 16) == 0) {
      port_ = ntohs(at.sin_port);
      thread_ = std::thread([this] { serve(); });
      return;
    }
    ::close(fd_);
    ::close(tcp_);
  }
  throw std::runtime_error("scripted dns: no sockets");
}

ScriptedDns::~ScriptedDns() {
  stop_ = true;
  thread_.join();
  for (const int fd : stalled_) ::close(fd);
  ::close(fd_);
  ::close(tcp_);
}

void ScriptedDns::set(const std::string& name, Record record) {
  const std::scoped_lock lock(mutex_);
  records_[name] = std::move(record);
}

std::string ScriptedDns::address() const { return "127.0.0.1:" + std::to_string(port_); }

int ScriptedDns::asked(const std::string& name, bool v6) const {
  const std::scoped_lock lock(mutex_);
  const auto found = asked_[v6 ? 1 : 0].find(name);
  return found == asked_[v6 ? 1 : 0].end() ? 0 : found->second;
}

int ScriptedDns::asked_in_all() const {
  const std::scoped_lock lock(mutex_);
  int sum = 0;
  for (const auto& family : asked_) {
    for (const auto& [name, count] : family) sum += count;
  }
  return sum;
}

void ScriptedDns::serve() {
  while (!stop_) {
    std::array<pollfd, 2> ready{{{fd_, POLLIN, 0}, {tcp_, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), 20) <= 0) continue;
    if (ready[1].revents != 0) serve_tcp();
    if (ready[0].revents == 0) continue;
    std::array<char, 2048> packet;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const ssize_t n = ::recvfrom(fd_, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (n < static_cast<ssize_t>(kHeaderBytes)) continue;
    const std::string out = reply(std::string(packet.data(), static_cast<std::size_t>(n)), false);
    if (!out.empty()) ::sendto(fd_, out.data(), out.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
  }
}

// Every question that comes on one connection, until its client closes it.
void ScriptedDns::serve_tcp() {
  const int fd = ::accept4(tcp_, nullptr, nullptr, SOCK_CLOEXEC);
  if (stall_tcp_ > 0) {
    --stall_tcp_;
    stalled_.push_back(fd);
    return;
  }
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<unsigned char, 2> length{};
  while (::recv(fd, length.data(), length.size(), MSG_WAITALL) == 2) {
    std::string query(std::size_t{length[0]} << 8U | length[1], '\0');
    if (::recv(fd, query.data(), query.size(), MSG_WAITALL) != static_cast<ssize_t>(query.size())) break;
    const std::string answer = reply(query, true);
    std::string out;
    put16(out, static_cast<unsigned>(answer.size()));
    out += answer;
    ::send(fd, out.data(), out.size(), MSG_NOSIGNAL);
  }
  ::close(fd);
}

std::string ScriptedDns::reply(const std::string& query, bool over_tcp) {
  std::string name;
  std::size_t at = kHeaderBytes;
  while (at < query.size() && query[at] != 0) {
    const auto length = static_cast<unsigned char>(query[at]);
    name += (name.empty() ? "" : ".") + query.substr(at + 1, length);
    at += 1 + length;
  }
  const int type = static_cast<unsigned char>(query.at(at + 2));
  const std::scoped_lock lock(mutex_);
  ++asked_[type == kTypeAaaa ? 1 : 0][name];
  const auto found = records_.find(name);
  const Record record = found == records_.end() ? Record{} : found->second;
  if (record.silent) return {};
  std::string owner("\xc0\x0c", 2);
  std::string answers;
  unsigned count = 0;
  if (!record.alias.empty()) {
    answers += record_of(owner, kTypeCname, record.ttl, encoded(record.alias));
    owner = encoded(record.alias);
    ++count;
  }
  for (const std::string& ip : type == kTypeAaaa ? record.v6 : record.v4) {
    std::string data(type == kTypeAaaa ? 16 : 4, '\0');
    inet_pton(type == kTypeAaaa ? AF_INET6 : AF_INET, ip.c_str(), data.data());
    answers += record_of(owner, static_cast<unsigned>(type == kTypeAaaa ? kTypeAaaa : kTypeA), record.ttl, data);
    ++count;
  }
  const unsigned code = record.server_failure ? 2 : (found == records_.end() ? 3 : 0);
  std::string out = query.substr(0, 2);
  const bool cut = record.truncated && !over_tcp;
  put16(out, 0x8180U | code | (cut ? 0x0200U : 0U));
  put16(out, 1);
  put16(out, cut ? 0 : count);
  put16(out, 0);
  put16(out, 0);
  return out + query.substr(kHeaderBytes, at + 5 - kHeaderBytes) + (cut ? std::string() : answers);
}

}  // namespace bloomwall::test
