// Which process listens on a TCP port of this machine, by /proc: the socket in /proc/net/tcp and tcp6, and the process
// that has it open. Without root only processes of the same user are seen. Reads all of /proc: for commands, and for a
// start that has failed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

// The one that keeps others from listening on an address; nothing where nobody does, and for port 0.
std::optional<PortHolder> holder_of(const Endpoint& address);

struct ConfiguredAddress {
  std::string key;  // "listeners[0].address"
  std::string address;
  std::optional<PortHolder> holder;
};
// Of the listeners and of admin.address.
std::vector<ConfiguredAddress> configured_addresses(const conf::Config& settings);

// "listeners[0].address: 127.0.0.1:3128 is held by squid (process 812)", for each address that a process other than
// bloomwall and the service manager (process 1) is seen to hold.
std::vector<std::string> taken_addresses(const conf::Config& settings);

}  // namespace bloomwall::proxy
