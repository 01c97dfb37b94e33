// Where commands find the proxy that runs, whatever the configuration says by now: an edit of admin.control_socket, or
// a file that is refused, must not keep them from it. A proxy that has a control socket leaves a link to it under a
// name that only the path of its configuration decides, in /run/bloomwall, or where it may not write there in
// $XDG_RUNTIME_DIR/bloomwall:
//   /run/bloomwall/running-1f3a9c0d5b7e2468 -> /run/bloomwall/control.sock
// Whoever may write there could as well take the place of the default socket itself.
// Threads: the main one's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "proxy/reload/loading.h"

namespace bloomwall::proxy {

class RunningSocket {
 public:
  // `file`: as on the command line; empty: the default place. Takes the place of what another process has left. Where
  // no link can be made there is none.
  RunningSocket(const std::filesystem::path& file, const std::filesystem::path& socket);
  ~RunningSocket();  // removes it, unless it is another process's by now
  RunningSocket(const RunningSocket&) = delete;
  RunningSocket& operator=(const RunningSocket&) = delete;
  void forget() { link_.clear(); }  // it is another process's from now on

 private:
  std::filesystem::path link_, target_;
};

// What --socket of this process's command line says; empty: it was not given.
std::filesystem::path& socket_option();
// The one to ask: that of --socket; else the one that the running proxy has left, where somebody listens there; else
// `configured`, admin.control_socket, which may be empty.
std::filesystem::path socket_to_ask(const std::filesystem::path& file, const std::filesystem::path& configured);
// Likewise where the configuration was not loaded yet: it is, but only if nothing else says which socket. Error: why it
// is refused, or that it names none.
Loaded<std::filesystem::path> find_socket(const std::filesystem::path& file);

}  // namespace bloomwall::proxy
