// The open tunnels of a worker, and their review after a reload: a tunnel that the new policy blocks must end. Reviews
// a bounded number per turn, so that the loop is not blocked.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "proxy/io/event_loop.h"
#include "proxy/io/intrusive_list.h"

namespace bloomwall::proxy {

class LiveTunnel : public ListLink<LiveTunnel> {
 public:
  LiveTunnel() = default;
  LiveTunnel(const LiveTunnel&) = delete;
  LiveTunnel& operator=(const LiveTunnel&) = delete;
  virtual ~LiveTunnel() = default;
  virtual void review() = 0;  // by the current policy; may end it

 private:
  friend class LiveTunnels;
  std::uint64_t judged_by_ = 0;
};

class LiveTunnels {
 public:
  explicit LiveTunnels(EventLoop& loop);
  // `judged_by`: the edition, by its number (WorkerState::editions), of the verdict that let it in. One that is past by
  // now is reviewed on the next turn.
  void add(LiveTunnel& tunnel, std::uint64_t judged_by);
  void review(std::uint64_t current);  // every tunnel that was judged by an older one

 private:
  static constexpr std::size_t kEachTurn = 256;  // two or three verdicts each, of a microsecond
  void step();

  Event wake_;
  IntrusiveList<LiveTunnel, LiveTunnel> tunnels_;  // not reviewed yet first
  std::uint64_t current_ = 0;
};

}  // namespace bloomwall::proxy
