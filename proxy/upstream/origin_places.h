// Places at origins that take only so many connections from one address (routers, cameras, a firewall's limit). One
// more is refused, or ended without an answer, while others of ours are idle there, or about to be. So the request
// waits for a place: in every worker an idle connection to the origin gives way, and while somebody waits so does each
// that would become idle. A client that has lost its own that way dials, and may wait in its turn.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/io/timer_wheel.h"

namespace bloomwall::proxy {

// Of all workers, by the keys of their pools (UpstreamPool::make()).
// Cost: a lock where a worker makes its first connection to an origin, or loses its last; is_wanted() one relaxed load
// while nobody waits. Threads: any.
class OriginPlaces {
 public:
  OriginPlaces() = default;
  OriginPlaces(const OriginPlaces&) = delete;
  OriginPlaces& operator=(const OriginPlaces&) = delete;

  // A worker has connections to it; has none any more.
  void enter(std::string_view key);
  void leave(std::string_view key);
  std::size_t workers_at(std::string_view key) const;

  void want(std::string_view key);    // somebody waits
  void unwant(std::string_view key);  // as often
  bool is_wanted(std::string_view key) const;

 private:
  struct Origin {
    std::size_t workers = 0, waiting = 0;
  };
  void change(std::string_view key, std::size_t Origin::* count, bool up);

  mutable std::mutex mutex_;
  std::map<std::string, Origin, std::less<>> origins_;  // guarded by mutex_
  std::atomic<std::size_t> waiting_ = 0;                // at all of them
};

// One request's wait: when to try again. Thread: the loop's.
class PlaceWait {
 public:
  // Ended connections may have carried the request to a server that failed over it, so it is not sent for ever.
  static constexpr unsigned kMostEnded = 5;
  static constexpr Milliseconds kFirstPause{50}, kLongestPause{400};

  // Until when it waits at most. `again(self)` is called after each pause.
  PlaceWait(OriginPlaces& places, TimerWheel& timers, Timer::Callback again, void* self, Milliseconds until)
      : places_(places), timer_(timers, again, self), until_(until) {}
  ~PlaceWait() { end(); }
  PlaceWait(const PlaceWait&) = delete;
  PlaceWait& operator=(const PlaceWait&) = delete;

  bool is_over(Milliseconds now) const { return now >= until_; }
  void pause(std::string_view key);
  // False: often enough.
  bool count_ended() { return ++ended_ <= kMostEnded; }
  void end();  // there is a place, or nobody needs it

 private:
  OriginPlaces& places_;
  Timer timer_;
  const Milliseconds until_;
  Milliseconds next_ = kFirstPause;
  std::optional<std::string> wanted_;
  unsigned ended_ = 0;
};

}  // namespace bloomwall::proxy
