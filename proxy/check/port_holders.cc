// SPDX-License-Identifier: Apache-2.0
#include "proxy/check/port_holders.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "proxy/check/settings_check.h"
#include "proxy/io/unix_socket.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kListens = "0A";             // of the states of a TCP socket
constexpr std::uint32_t kAcceptsConnections = 0x10000;  // __SO_ACCEPTCON, of the flags of a unix socket

template <typename T>
std::optional<T> number_in(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "0100007F:0C38": words of an address as the processor has them in memory, and a port.
std::optional<Endpoint> endpoint_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  const auto port = number_in<std::uint16_t>(text.substr(colon + 1), 16);
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i) {
    const auto word = number_in<std::uint32_t>(text.substr(i * 8, 8), 16);
    if (!word) return std::nullopt;
    words.at(i) = *word;
  }
  if (!port) return std::nullopt;
  if (colon == 8) return Endpoint::from(in_addr{words[0]}, *port);
  in6_addr v6{};
  std::copy_n(reinterpret_cast<const std::uint8_t*>(words.data()), sizeof v6, v6.s6_addr);
  return Endpoint::from(v6, *port);
}

// The inodes of sockets that listen where `address` would, as "socket:[INODE]".
std::set<std::string> sockets_at(const Endpoint& address) {
  std::set<std::string> sockets;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);  // the head
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::array<std::string, 10> field;
      for (std::string& word : field) words >> word;
      if (field[3] != kListens) continue;
      const auto other = endpoint_of(field[1]);
      if (other && collide(address.unmapped(), other->unmapped())) sockets.insert("socket:[" + field[9] + "]");
    }
  }
  return sockets;
}

// Likewise at a path. Lines: number, references, protocol, flags, type, state, inode, path.
std::set<std::string> sockets_at_path(const std::string& path) {
  std::set<std::string> sockets;
  std::ifstream lines("/proc/net/unix");
  std::string line;
  std::getline(lines, line);  // the head
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::array<std::string, 7> field;
    for (std::string& word : field) words >> word;
    std::string name;
    std::getline(words >> std::ws, name);
    const auto flags = number_in<std::uint32_t>(field[3], 16);
    if (flags && (*flags & kAcceptsConnections) != 0 && name == path) sockets.insert("socket:[" + field[6] + "]");
  }
  return sockets;
}

bool has_open(const std::filesystem::path& process, const std::set<std::string>& sockets) {
  std::error_code failed;
  std::filesystem::directory_iterator each(process / "fd", failed), end;
  for (; !failed && each != end; each.increment(failed)) {
    std::error_code gone;
    if (sockets.contains(std::filesystem::read_symlink(each->path(), gone).string())) return true;
  }
  return false;
}

PortHolder process_with(const std::set<std::string>& sockets) {
  std::error_code failed;
  std::filesystem::directory_iterator each("/proc", failed), end;
  for (; !failed && each != end; each.increment(failed)) {
    const auto pid = number_in<int>(each->path().filename().string(), 10);
    if (!pid || !has_open(each->path(), sockets)) continue;
    PortHolder holder{.program = "", .pid = *pid};
    std::ifstream name(each->path() / "comm");
    std::getline(name, holder.program);
    return holder;
  }
  return {};
}

// Of an upgrade the process before is the parent.
bool is_well(const PortHolder& holder, HeldBy by) {
  const bool may_be = by == HeldBy::other_programs || holder.pid == ::getpid() || holder.pid == ::getppid();
  return holder.pid == 1 || (may_be && holder.program == "bloomwall");
}

}  // namespace

std::optional<PortHolder> holder_of(const Endpoint& address) {
  const auto sockets = sockets_at(address);
  if (sockets.empty()) return std::nullopt;
  return process_with(sockets);
}

std::optional<PortHolder> holder_of_path(const std::string& path) {
  const auto sockets = sockets_at_path(path);
  if (sockets.empty()) return std::nullopt;
  return process_with(sockets);
}

std::vector<ConfiguredAddress> configured_addresses(const conf::Config& settings) {
  std::vector<ConfiguredAddress> addresses;
  for (std::size_t i = 0; i < settings.listeners.size(); ++i) {
    addresses.push_back({fmt::format("listeners[{}].address", i), settings.listeners[i].address, {}});
  }
  for (std::size_t i = 0; i < settings.answers.size(); ++i) {
    addresses.push_back({fmt::format("answers[{}].address", i), settings.answers[i].address, {}});
  }
  if (settings.admin.address) addresses.push_back({"admin.address", *settings.admin.address, {}});
  for (ConfiguredAddress& each : addresses) {
    if (const auto endpoint = Endpoint::parse(each.address)) each.holder = holder_of(*endpoint);
    if (const std::string path = unix_path_of(each.address); !path.empty()) each.holder = holder_of_path(path);
  }
  return addresses;
}

std::vector<std::string> taken_addresses(const conf::Config& settings, HeldBy by) {
  std::vector<std::string> lines;
  for (const auto& [key, address, holder] : configured_addresses(settings)) {
    if (!holder || holder->pid == 0 || is_well(*holder, by)) continue;
    lines.push_back(fmt::format("{}: {} is held by {} (process {})", key, address, holder->program, holder->pid));
  }
  return lines;
}

}  // namespace bloomwall::proxy
