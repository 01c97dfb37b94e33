// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/chain.h"

#include <algorithm>
#include <cstring>

namespace bloomwall::proxy {

bool Chain::append(std::span<const char> bytes) {
  while (!bytes.empty()) {
    if (tail_ == nullptr || tail_->room() == 0) {
      BufferPool::Block* block = pool_->take();
      if (block == nullptr) return false;
      (tail_ == nullptr ? head_ : tail_->next) = block;
      tail_ = block;
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
  }
  if (head_ == nullptr) {
    tail_ = nullptr;
  } else {
    head_->begin += static_cast<std::uint32_t>(bytes);
  }
}

void Chain::clear() { consume(size_); }

}  // namespace bloomwall::proxy
