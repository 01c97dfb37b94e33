// Blocks of memory for bytes that wait: one pool per worker, so that connections hold memory only while they have
// something to keep. Freed blocks are kept for the next taker up to kMaxKept; what is held at one time is bounded by
// `limit`, and a taker that gets nothing must give up its connection.
// Cost: a pop or push on a list. Thread: one; in_use() and refusals() may be read from any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace bloomwall::proxy {

class BufferPool {
 public:
  struct Block {
    static constexpr std::size_t kBytes = 16 * 1024 - 16;  // with the fields below a whole number of pages
    Block* next = nullptr;
    std::uint32_t begin = 0;  // first octet not yet taken
    std::uint32_t end = 0;    // one past the last octet written
    std::array<char, kBytes> bytes;
    std::size_t size() const { return end - begin; }
    std::size_t room() const { return kBytes - end; }
  };
  static constexpr std::size_t kMaxKept = 1024;  // 16 MiB

  explicit BufferPool(std::size_t limit_bytes);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  void set_limit(std::size_t limit_bytes);  // what is held beyond a lower one stays until it is given back
  Block* take();                            // empty; nullptr at the limit
  void give(Block* block);
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }  // how often there was none
  std::uint64_t in_use() const { return blocks_in_use_.load(std::memory_order_relaxed) * sizeof(Block); }

 private:
  std::size_t limit_blocks_;
  std::atomic<std::uint64_t> blocks_in_use_{0}, refusals_{0};
  Block* free_ = nullptr;
  std::size_t kept_ = 0;
};

}  // namespace bloomwall::proxy
