// Spare exchanges with warm buffers. An exchange that is given back rests until the next turn of the loop, because its own
// code may still be on the stack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "proxy/net/exchange.h"

namespace bloomwall::proxy {

class ExchangePool {
 public:
  static constexpr std::size_t kMaxSpare = 256;

  explicit ExchangePool(WorkerState& state);
  std::unique_ptr<Exchange> take();
  void give(std::unique_ptr<Exchange> exchange);
  std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }  // any thread

 private:
  WorkerState& state_;
  Event wake_;
  std::vector<std::unique_ptr<Exchange>> resting_, spare_;
  std::atomic<std::size_t> taken_{0};
};

}  // namespace bloomwall::proxy
