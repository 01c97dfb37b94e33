// A queue of bytes in pooled blocks: what could not be written yet, or could not be used yet. Empty, it holds no block.
// Cost: copying on append, none on the way out. Thread: the pool's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "proxy/io/buffer_pool.h"

namespace bloomwall::proxy {

class Chain {
 public:
  explicit Chain(BufferPool& pool) : pool_(&pool) {}
  ~Chain() { clear(); }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  bool append(std::span<const char> bytes);        // false: the pool is exhausted, part of the bytes may be in
  std::span<const char> front() const;             // the first contiguous piece; empty where the chain is
  std::size_t pieces(std::span<iovec> out) const;  // the first pieces, for writev; how many
  void consume(std::size_t bytes);                 // at most size()
  void clear();
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  BufferPool* pool_;
  BufferPool::Block* head_ = nullptr;
  BufferPool::Block* tail_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bloomwall::proxy
