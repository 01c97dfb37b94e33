// What the parts of one exchange have in common.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proxy/auth/user.h"

namespace bloomwall::proxy {

class ClientStream;
struct Snapshot;
struct WorkerState;

struct ExchangeContext {
  WorkerState& worker;
  ClientStream& client;
  std::shared_ptr<const Snapshot> snapshot;  // whose settings and rules the exchange goes by
  std::uint64_t edition;                     // of the worker when the exchange began
  UserPtr user = nullptr;                    // whose request it is; nullptr: nobody had to log in for it
  std::uint32_t locked_for = 0;              // seconds, where it is answered login_locked
  // Where the request goes, as decided. Until then the host is empty.
  std::string host = {};  // canonical
  std::uint16_t port = 0;
  std::uint16_t host_field_port = 0;  // RequestRewrite::port
};

}  // namespace bloomwall::proxy
