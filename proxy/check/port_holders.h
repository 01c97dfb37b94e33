// Which process listens on a TCP port of this machine, or at the path of a unix socket, by /proc: the socket in
// /proc/net/tcp, tcp6 and unix, and the process that has it open. Without root only processes of the same user are
// seen. Reads all of /proc: for commands, and for a start that has failed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

struct PortHolder {
  std::string program;  // "squid"; empty: some process that is not seen from here
  int pid = 0;          // 0: likewise
};

// The process that keeps others from listening on an address; nothing if none does, and for port 0.
std::optional<PortHolder> holder_of(const Endpoint& address);

// Likewise at a path, as it was bound.
std::optional<PortHolder> holder_of_path(const std::string& path);

struct ConfiguredAddress {
  std::string key;  // "listeners[0].address"
  std::string address;
  std::optional<PortHolder> holder;
};
// Of the listeners, of the doors in `answers`, and of admin.address.
std::vector<ConfiguredAddress> configured_addresses(const conf::Config& settings);

// Of a bloomwall that runs it is well that it holds them; where a start has failed, another one may be the reason.
enum class HeldBy : std::uint8_t { other_programs, other_processes };

// "listeners[0].address: 127.0.0.1:3128 is held by squid (process 812)", for each address that such a process is seen
// to hold. The service manager (process 1), which holds them for bloomwall, is never told of.
std::vector<std::string> taken_addresses(const conf::Config& settings, HeldBy by);

}  // namespace bloomwall::proxy
