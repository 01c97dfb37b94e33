// Listening sockets that the service manager opened for us (socket activation, sd_listen_fds(3)): clients that connect
// while the proxy starts or restarts wait instead of being refused, and ports below 1024 need no privilege of ours.
// Error: one line, about a descriptor that is no listening TCP socket. Call it once, before there are threads: it
// removes the variables from the environment, so that child processes do not take the sockets for theirs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

tl::expected<std::vector<ListeningSocket>, std::string> passed_sockets();

}  // namespace bloomwall::proxy
