// Looks once a second, or as often as the service manager wants to hear of it, whether every event loop turns. A loop
// that is blocked is logged. The service manager is told that the process is alive only while no loop is blocked, and
// ends it otherwise. Memory of a peak of connections is given back to the system here, too (MemoryPeak).
// Thread: the main loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/daemon/memory_peak.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class Server;  // proxy/worker/server.h

class Watchdog {
 public:
  explicit Watchdog(EventLoop& loop);
  void watch(const Server& server) { server_ = &server; }  // which must outlive the loop's turns

 private:
  void on_tick();
  void give_memory_back();

  const Server* server_ = nullptr;
  bool is_stalled_ = false;
  MemoryPeak memory_;  // of connections, beside the pools
  Timer tick_;
};

}  // namespace bloomwall::proxy
