// Reads pages of a paged filter on a thread of its own, so that no event loop blocks on the disk. Requests that arrive
// while the thread reads are read together next time: under load the disk gets more reads at once.
// One per worker; the thread starts with the first read. Where no thread can be created, the kernel is asked to read
// ahead (madvise), and the handler is called a little later to try again. All calls and callbacks are on the worker's
// loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "proxy/io/timer_wheel.h"

namespace bloomwall::filter {
class Policy;
}

namespace bloomwall::proxy {

class EventLoop;

using PolicyPtr = std::shared_ptr<const filter::Policy>;

class PageReader {
 public:
  class Handler {
   public:
    // Called once, on the loop. A page that can't be read makes its filter a lost one; a page that still is not
    // resident must be requested again.
    virtual void on_pages_read() = 0;

   protected:
    ~Handler() = default;
  };
  struct Wait {  // until its handler is called
    PolicyPtr policy;
    std::vector<const std::byte*> pages;
    Handler* handler = nullptr;  // used on the loop only; null: cancelled
    bool is_checked = false;     // the pages were read and compared with their sums
  };

  explicit PageReader(EventLoop& loop);
  ~PageReader();
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  // The policy keeps the pages mapped.
  Wait* read(PolicyPtr policy, std::span<const std::byte* const> pages, Handler& handler);
  void cancel(Wait* wait);  // its handler is no longer called

 private:
  using Waits = std::vector<std::unique_ptr<Wait>>;
  static constexpr std::size_t kMostAtOnce = 64;  // waits that are asked for together, and end together
  bool has_thread();
  void run();
  void take_turn(std::unique_lock<std::mutex>& lock);
  void read_ahead(std::unique_ptr<Wait> wait);
  void finish();

  EventLoop& loop_;
  Timer look_again_;  // where there is no thread
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Waits waiting_, done_;  // these three are guarded by mutex_
  bool stopping_ = false;
};

}  // namespace bloomwall::proxy
