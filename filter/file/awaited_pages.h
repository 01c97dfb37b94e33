// Records which pages of a mapped file have been read once, for file systems that can't report residency (tmpfs, ZFS,
// NFS: no preadv2 with RWF_NOWAIT). Without it every look-up in a page would wait for the page reader again.
// One bit a page, allocated with the first mark. Any thread; neither call blocks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "filter/file/system_page.h"

namespace bloomwall::filter {

class AwaitedPages {
 public:
  explicit AwaitedPages(std::size_t file_bytes) : words_((file_bytes / system_page() + kBits) / kBits) {}

  void mark(std::size_t offset) {
    std::call_once(once_, [this] { bits_.store(new Word[words_](), std::memory_order_release); });
    const Place place = place_of(offset);
    bits_.load(std::memory_order_acquire)[place.word].fetch_or(place.mask, std::memory_order_release);
  }
  bool has(std::size_t offset) const {
    const Word* const bits = bits_.load(std::memory_order_acquire);
    const Place place = place_of(offset);
    return bits != nullptr && (bits[place.word].load(std::memory_order_acquire) & place.mask) != 0;
  }

  ~AwaitedPages() { delete[] bits_.load(); }
  AwaitedPages(const AwaitedPages&) = delete;
  AwaitedPages& operator=(const AwaitedPages&) = delete;

 private:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::size_t kBits = 64;
  struct Place {
    std::size_t word;
    std::uint64_t mask;
  };
  static Place place_of(std::size_t offset) {
    const std::size_t page = offset / system_page();
    return {page / kBits, std::uint64_t{1} << (page % kBits)};
  }

  std::size_t words_;
  std::once_flag once_;
  std::atomic<Word*> bits_{nullptr};
};

}  // namespace bloomwall::filter
