// The addresses of this machine, as its interfaces have them now.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace bloomwall::proxy {

// An address of this machine.
struct Interface {
  std::string name;     // "eth0"
  std::string address;  // "192.168.1.5"
  std::string network;  // "192.168.1.0/24"
  bool is_loopback = false;
};
// Of interfaces that are up, without link-local addresses of IPv6, which nobody enters in a browser. Empty where the
// system does not say. Cost: one exchange with the kernel.
std::vector<Interface> interfaces();

}  // namespace bloomwall::proxy
