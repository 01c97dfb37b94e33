// Identity of a client, as its requests and their log lines need it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
  // It speaks HTTP/1 through a tunnel: what its CONNECT named, which needs its own pass with every request.
  struct Inside {
    std::string host;  // canonical
    std::uint16_t port = 0;
    std::uint64_t judged_by = 0;  // edition of the CONNECT's verdict
    bool to_parent = false;       // its far end is the parent, not the host
  };
  std::unique_ptr<const Inside> inside = nullptr;
  // On a transparent listener: the original destination address, which is what is dialled; Host and SNI do not change
  // it.
  std::unique_ptr<const Destination> destination = nullptr;
};

}  // namespace bloomwall::proxy
