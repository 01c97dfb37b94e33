// Waits for pages of a paged filter on a thread of its own, so that no event loop does. What comes in while the thread
// waits is asked for together next time: the busier it is, the more reads the disk is given at once.
// One a worker; the thread begins with the first wait. Where the system gives no thread, the kernel is asked to read ahead,
// and the handler is called a little later, to look whether it has. Everything is called on the worker's loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "proxy/io/event_loop.h"

namespace bloomwall::filter {
class Policy;
}

namespace bloomwall::proxy {

using PolicyPtr = std::shared_ptr<const filter::Policy>;

class PageReader {
 public:
  class Handler {
   public:
    // Once, on the loop. What becomes of a page that can't be read, the filter knows; one that is not there is to be asked
    // for again.
    virtual void on_pages_read() = 0;

   protected:
    ~Handler() = default;
  };
  struct Wait {  // until its handler is called
    PolicyPtr policy;
    std::vector<const std::byte*> pages;
    Handler* handler = nullptr;  // the loop's alone; null: cancelled
    bool is_checked = false;     // the pages were read and compared with their sums
  };

  explicit PageReader(EventLoop& loop);
  ~PageReader();
  PageReader(const PageReader&) = delete;
  PageReader& operator=(const PageReader&) = delete;

  // The policy keeps the pages mapped.
  Wait* read(PolicyPtr policy, std::span<const std::byte* const> pages, Handler& handler);
  void cancel(Wait* wait);  // its handler is not called any more

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
