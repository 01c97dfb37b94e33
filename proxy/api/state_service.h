// The state (proxy/state) as the main loop has it: the newest that is on the disk, and a door to the thread that
// changes it. `done` of ask() is called on the loop, once state() is what the change has made of it.
// Tokens are published to all threads at once (CurrentTokens); exceptions by who asked for the change.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "proxy/io/event_loop.h"
#include "proxy/state/state_thread.h"

namespace bloomwall::proxy {

class StateService {
 public:
  StateService(EventLoop& loop, StateStore store);
  StateService(const StateService&) = delete;
  StateService& operator=(const StateService&) = delete;

  const State& state() const { return *state_; }
  const StatePtr& shared() const { return state_; }  // for another thread
  const CurrentTokens& tokens() const { return tokens_; }
  bool is_kept() const { return is_kept_; }
  // A warning for who made the change: that it is gone after a restart or an upgrade.
  std::vector<std::string> warnings() const;
  bool is_usable() const { return is_usable_; }  // false: it cannot be changed (StateStore::fault())

  bool are_exports_stale() const { return are_exports_stale_; }  // StateStore::are_exports_stale()

  // False: too many wait. `job`: StateResult<T>(StateStore&), on the state's thread; `done`: void(StateResult<T>).
  template <typename Job, typename Done>
  bool ask(Job job, Done done) {
    const bool is_taken = thread_.post([this, job = std::move(job), done = std::move(done)](StateStore& store) {
      auto result = job(store);
      loop_.post([this, result = std::move(result), state = store.state(), is_kept = store.is_kept(),
                  written = store.take_written(), is_usable = store.fault().empty(),
                  are_exports_stale = store.are_exports_stale(), done] {
        adopt(state);
        are_exports_stale_ = are_exports_stale;
        is_kept_ = is_kept;
        is_usable_ = is_usable;
        --asked_;
        if (tell_) std::ranges::for_each(written, tell_);
        done(result);
      });
    });
    asked_ += is_taken ? 1U : 0U;
    return is_taken;
  }
  // Is told of each row of the audit, once it is on the disk.
  void tell(std::function<void(const AuditRow&)> tell) { tell_ = std::move(tell); }
  bool is_asked() const { return asked_ > 0; }  // something, and `done` was not called yet
  // The process ends: what is asked for fails from now on, where another process holds the file.
  void hurry() { thread_.hurry(); }

  // Once all is done that was asked for, another process may change the state.
  void release() {
    thread_.post([](StateStore& store) { store.release(); });
  }

 private:
  void adopt(const StatePtr& state);

  EventLoop& loop_;
  StatePtr state_;
  CurrentTokens tokens_;
  bool is_kept_ = false, is_usable_ = false, are_exports_stale_ = false;
  std::size_t asked_ = 0;
  std::function<void(const AuditRow&)> tell_;
  StateThread thread_;  // last: it posts to the loop
};

}  // namespace bloomwall::proxy
