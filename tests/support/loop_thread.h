// An event loop on a thread of its own, with what streams need. Objects that live on the loop are made and destroyed
// there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "proxy/io/event_loop.h"
#include "proxy/io/transport.h"

namespace bloomwall::test {

class LoopThread {
 public:
  LoopThread() : thread_([this] { loop.run(); }) {}
  ~LoopThread() {
    loop.stop();
    thread_.join();
  }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // Runs it on the loop and waits for it.
  void call(const std::function<void()>& work) {
    std::promise<void> done;
    loop.post([&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Runs it on the loop, turn after turn, until it says true. False: it never did.
  bool call_until(const std::function<bool()>& work) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (bool is_done = false; std::chrono::steady_clock::now() < end;) {
      call([&] { is_done = work(); });
      if (is_done) return true;
      std::this_thread::yield();
    }
    return false;
  }

  proxy::EventLoop loop;
  proxy::BufferPool pool{std::size_t{16} << 20};
  std::vector<char> scratch = std::vector<char>(std::size_t{64} << 10);
  proxy::IoContext io{loop, pool, scratch};

 private:
  std::thread thread_;
};

}  // namespace bloomwall::test
