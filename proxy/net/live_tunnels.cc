// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/live_tunnels.h"

namespace bloomwall::proxy {

LiveTunnels::LiveTunnels(EventLoop& loop) {
  wake_.assign(
      loop.base(), -1, 0, [](evutil_socket_t, short, void* self) { static_cast<LiveTunnels*>(self)->step(); }, this);
}

void LiveTunnels::add(LiveTunnel& tunnel, std::uint64_t judged_by) {
  tunnel.judged_by_ = judged_by;
  if (judged_by == generation_) return tunnels_.push_back(tunnel);
  tunnels_.push_front(tunnel);
  wake_.trigger();
}

void LiveTunnels::review(std::uint64_t generation) {
  generation_ = generation;
  if (!tunnels_.empty()) wake_.trigger();
}

void LiveTunnels::step() {
  for (std::size_t i = 0; i < kEachTurn && !tunnels_.empty(); ++i) {
    LiveTunnel& tunnel = tunnels_.front();
    if (tunnel.judged_by_ == generation_) return;
    tunnel.judged_by_ = generation_;
    tunnels_.push_back(tunnel);
    tunnel.review();
  }
  if (!tunnels_.empty() && tunnels_.front().judged_by_ != generation_) wake_.trigger();
}

}  // namespace bloomwall::proxy
