// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/passed_sockets.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <cstring>
#include <utility>

namespace bloomwall::proxy {

tl::expected<std::vector<ListeningSocket>, std::string> passed_sockets() {
  const int count = sd_listen_fds(1);
  if (count < 0) return tl::unexpected(fmt::format("LISTEN_FDS: {}", std::strerror(-count)));
  std::vector<ListeningSocket> sockets;
  for (int i = 0; i < count; ++i) {
    const int fd = SD_LISTEN_FDS_START + i;
    auto socket = take_over(UniqueFd(fd));
    if (!socket) {
      return tl::unexpected(fmt::format("descriptor {}, passed by the service manager: {}", fd, socket.error()));
    }
    sockets.push_back(*std::move(socket));
  }
  return sockets;
}

}  // namespace bloomwall::proxy
