// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/buffer_pool.h"

#include <utility>

namespace bloomwall::proxy {

BufferPool::BufferPool(std::size_t limit_bytes) : limit_blocks_(limit_bytes / sizeof(Block)) {}

void BufferPool::set_limit(std::size_t limit_bytes) { limit_blocks_ = limit_bytes / sizeof(Block); }

BufferPool::~BufferPool() {
  while (free_ != nullptr) {
    const std::unique_ptr<Block> dead(std::exchange(free_, free_->next));
  }
}

BufferPool::Block* BufferPool::take() {
  const auto in_use = blocks_in_use_.load(std::memory_order_relaxed);
  if (in_use >= limit_blocks_) {
    refusals_.store(refusals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return nullptr;
  }
  blocks_in_use_.store(in_use + 1, std::memory_order_relaxed);
  if (free_ == nullptr) return new Block;  // bytes stay unset
  --kept_;
  Block* block = std::exchange(free_, free_->next);
  block->next = nullptr;
  block->begin = block->end = 0;
  return block;
}

void BufferPool::give(Block* block) {
  blocks_in_use_.store(blocks_in_use_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  if (kept_ == kMaxKept) {
    const std::unique_ptr<Block> dead(block);
    return;
  }
  ++kept_;
  block->next = free_;
  free_ = block;
}

}  // namespace bloomwall::proxy
