// SPDX-License-Identifier: Apache-2.0

#include "proxy/io/chain.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "base/whole_pages.h"

namespace bloomwall::proxy {

BufferPool::BufferPool(std::size_t limit_bytes) : limit_(limit_bytes) {}

void BufferPool::set_limit(std::size_t limit_bytes) { limit_ = limit_bytes; }

BufferPool::~BufferPool() {
  for (Block* const slab : slabs_) ::munmap(slab, kSlabBlocks * sizeof(Block));
}

const char* to_string(BufferKind kind) {
  switch (kind) {
    case BufferKind::waiting:
      return "waiting";
    case BufferKind::heads:
      return "heads";
    case BufferKind::tls:
      return "tls";
    case BufferKind::http2:
      return "http2";
  }
  return "";
}

void BufferPool::on_overdraft(void (*told)(void*), void* self) {
  told_ = told;
  told_self_ = self;
}

bool BufferPool::pay_back(std::size_t bytes) {
  const bool is_in_reserve = in_use() + limit_ / 8 > limit_;
  owed_ = is_in_reserve && owed_ > bytes ? owed_ - bytes : 0;
  return owed_ > 0;
}

bool BufferPool::reserve(BufferKind kind, std::size_t bytes, Bound bound) {
  const auto in_use = bytes_in_use_.load(std::memory_order_relaxed);
  if (in_use + bytes > (bound == Bound::served ? limit_ + limit_ / 8 : limit_)) {
    refusals_.store(refusals_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return false;
  }
  bytes_in_use_.store(in_use + bytes, std::memory_order_relaxed);
  of(kind).store(of(kind).load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  if (lasts(kind) && in_use + bytes + limit_ / 8 > limit_) {
    if (owed_ == 0 && told_ != nullptr) told_(told_self_);
    owed_ += bytes;
  }
  return true;
}

void BufferPool::release(BufferKind kind, std::size_t bytes) {
  of(kind).store(of(kind).load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
  bytes_in_use_.store(bytes_in_use_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
}

BufferPool::Block* BufferPool::take(Bound bound) {
  if (!reserve(BufferKind::waiting, sizeof(Block), bound)) return nullptr;
  Block* block = free_;
  if (block != nullptr) {
    --kept_;
    free_ = block->next;
  } else if (block = fresh(); block == nullptr) {
    release(BufferKind::waiting, sizeof(Block));
    return nullptr;
  }
  block->next = nullptr;
  block->begin = block->end = 0;
  return block;
}

BufferPool::Block* BufferPool::fresh() {
  if (!cold_.empty()) {
    Block* const block = cold_.back();
    cold_.pop_back();
    return block;
  }
  if (slab_used_ == kSlabBlocks) {
    void* const memory = ::mmap(nullptr, kSlabBlocks * sizeof(Block), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    slabs_.push_back(static_cast<Block*>(memory));
    slab_used_ = 0;
  }
  return new (slabs_.back() + slab_used_++) Block;  // its octets stay unset
}

void BufferPool::give(Block* block) {
  release(BufferKind::waiting, sizeof(Block));
  if (kept_ == kMaxKept) {
    const auto pages = whole_pages_within(std::as_writable_bytes(std::span(block, 1)));
    if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_DONTNEED);  // a length is rounded up, to neighbours
    cold_.push_back(block);
    return;
  }
  ++kept_;
  block->next = free_;
  free_ = block;
}

bool Chain::append(std::span<const char> bytes, Bound bound) {
  while (!bytes.empty()) {
    if (tail_ == nullptr || tail_->room() == 0) {
      BufferPool::Block* block = pool_->take(bound);
      if (block == nullptr) return false;
      (tail_ == nullptr ? head_ : tail_->next) = block;
      tail_ = block;
      ++blocks_;
    }
    const std::size_t n = std::min(bytes.size(), tail_->room());
    std::memcpy(tail_->bytes.data() + tail_->end, bytes.data(), n);
    tail_->end += static_cast<std::uint32_t>(n);
    size_ += n;
    bytes = bytes.subspan(n);
  }
  return true;
}

std::span<const char> Chain::front() const {
  if (head_ == nullptr) return {};
  return {head_->bytes.data() + head_->begin, head_->size()};
}

std::size_t Chain::pieces(std::span<iovec> out) const {
  std::size_t count = 0;
  for (BufferPool::Block* block = head_; block != nullptr && count < out.size(); block = block->next) {
    out[count++] = {block->bytes.data() + block->begin, block->size()};
  }
  return count;
}

void Chain::consume(std::size_t bytes) {
  size_ -= bytes;
  while (head_ != nullptr && bytes >= head_->size()) {
    bytes -= head_->size();
    BufferPool::Block* empty = head_;
    head_ = head_->next;
    pool_->give(empty);
    --blocks_;
  }
  if (head_ == nullptr) {
    tail_ = nullptr;
  } else {
    head_->begin += static_cast<std::uint32_t>(bytes);
  }
}

void Chain::clear() { consume(size_); }

}  // namespace bloomwall::proxy
