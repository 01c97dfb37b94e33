// SPDX-License-Identifier: Apache-2.0
#include "proxy/decision/live_tunnels.h"

namespace bloomwall::proxy {

LiveTunnels::LiveTunnels(EventLoop& loop) {
  wake_.assign(
      loop.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<LiveTunnels*>(self)->step(); }, this);
}

void LiveTunnels::add(LiveTunnel& tunnel, std::uint64_t judged_by) {
  tunnel.judged_by_ = judged_by;
  if (judged_by == current_) return tunnels_.push_back(tunnel);
  tunnels_.push_front(tunnel);
  wake_.trigger();
}

void LiveTunnels::review(std::uint64_t current) {
  current_ = current;
  if (!tunnels_.empty()) wake_.trigger();
}

void LiveTunnels::step() {
  for (std::size_t i = 0; i < kEachTurn && !tunnels_.empty(); ++i) {
    LiveTunnel& tunnel = tunnels_.front();
    if (tunnel.judged_by_ == current_) return;
    tunnel.judged_by_ = current_;
    tunnels_.push_back(tunnel);
    tunnel.review();
  }
  if (!tunnels_.empty() && tunnels_.front().judged_by_ != current_) wake_.trigger();
}

}  // namespace bloomwall::proxy
