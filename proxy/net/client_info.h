// Who a client is, as far as its requests and their log lines are concerned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

// Lives as long as its connection.
struct ClientInfo {
  Endpoint endpoint;
  std::string address;                    // without port, for logs and X-Forwarded-For
  const std::string* listener = nullptr;  // "127.0.0.1:3128"
  struct Destination {
    Endpoint endpoint;
    std::string address;  // without port
  };
  // On a transparent listener: where it meant to connect, which is what is dialled whatever it says there.
  std::unique_ptr<const Destination> destination = nullptr;
};

}  // namespace bloomwall::proxy
