// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/exchange_pool.h"

#include <utility>

namespace bloomwall::proxy {

ExchangePool::ExchangePool(WorkerState& state) : state_(state) {
  wake_.assign(
      state.io.loop.base(), -1, 0,
      [](evutil_socket_t, short, void* self) {
        auto& me = *static_cast<ExchangePool*>(self);
        for (auto& rested : me.resting_) {
          if (me.spare_.size() == kMaxSpare) break;
          rested->shrink();
          me.spare_.push_back(std::move(rested));
        }
        me.resting_.clear();
      },
      this);
}

std::unique_ptr<Exchange> ExchangePool::take() {
  taken_.store(taken() + 1, std::memory_order_relaxed);
  if (spare_.empty()) return std::make_unique<Exchange>(state_);
  auto exchange = std::move(spare_.back());
  spare_.pop_back();
  return exchange;
}

void ExchangePool::give(std::unique_ptr<Exchange> exchange) {
  taken_.store(taken() - 1, std::memory_order_relaxed);
  resting_.push_back(std::move(exchange));
  wake_.trigger();
}

}  // namespace bloomwall::proxy
