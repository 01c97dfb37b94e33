// A queue of bytes in pooled blocks: what could not be written yet, or could not be used yet. Empty, it holds no block.
// Cost: copying on append, none on the way out. Thread: the pool's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bloomwall::proxy {

// Blocks of memory for bytes that wait: one pool per worker, so that connections hold memory only while they have
// something to keep. Freed blocks are kept for the next taker; the pages of those beyond kMaxKept go back to the
// system, so that a peak does not stay for ever (where a page of the system is larger than a block, 64 KiB, it does).
// What is held at one time is bounded by `limit`, and a taker that gets nothing must give up its connection; readers
// therefore ask has_room() first. What connections hold elsewhere (heads, TLS, HTTP/2) counts by a Reservation.
// Memory that lasts as long as a connection may idle (lasts()) must not spend what is kept free for octets that were
// read: when it reaches into that reserve, the owner is told, and closes connections that idle.
// What a connection needs that is served already (Bound::served) may exceed the limit by an eighth: it must not be lost
// for what others hold. What is new finds no room then.
// Cost: a pop or push on a list; beyond kMaxKept a system call. Thread: one; in_use() and refusals() may be read from
// any.
enum class BufferKind : std::uint8_t { waiting, heads, tls, http2 };  // waiting: octets in blocks
inline constexpr std::size_t kBufferKinds = 4;
constexpr bool lasts(BufferKind kind) { return kind == BufferKind::tls || kind == BufferKind::http2; }
const char* to_string(BufferKind kind);  // for the label of a metric
enum class Bound : std::uint8_t { limit, served };

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
  static constexpr std::size_t kMaxKept = 256;  // 4 MiB

  explicit BufferPool(std::size_t limit_bytes);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  void set_limit(std::size_t limit_bytes);  // what is held beyond a lower one stays until it is given back
  // Whether `bytes` more can be kept. An eighth of the limit stays free for octets that were already read.
  bool has_room(std::size_t bytes) const { return in_use() + 2 * bytes + limit_ / 8 <= limit_; }
  // Memory that lasts has reached into the reserve. Called from within reserve(), so it may only take a note. Once,
  // until pay_back() says that nothing is owed.
  void on_overdraft(void (*told)(void*), void* self);
  // Whether its owner was told, and has not closed enough yet: what can wait a turn finds more then.
  bool is_overdrawn() const { return owed_ > 0 && told_ != nullptr; }
  // Memory that lasts is about to be given back. True: more is owed, by what was reserved beyond the reserve since.
  bool pay_back(std::size_t bytes);
  std::size_t left() const { return limit_ - (in_use() < limit_ ? static_cast<std::size_t>(in_use()) : limit_); }
  std::size_t limit() const { return limit_; }
  Block* take(Bound bound = Bound::limit);  // empty; nullptr at the bound
  void give(Block* block);
  // False at the bound: nothing is reserved then.
  bool reserve(BufferKind kind, std::size_t bytes, Bound bound = Bound::limit);
  void release(BufferKind kind, std::size_t bytes);
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }  // how often there was none
  std::uint64_t in_use() const { return bytes_in_use_.load(std::memory_order_relaxed); }
  std::uint64_t in_use(BufferKind kind) const { return of(kind).load(std::memory_order_relaxed); }

 private:
  using Bytes = std::atomic<std::uint64_t>;
  const Bytes& of(BufferKind kind) const { return by_kind_[static_cast<std::size_t>(kind)]; }
  Bytes& of(BufferKind kind) { return by_kind_[static_cast<std::size_t>(kind)]; }

  static constexpr std::size_t kSlabBlocks = 64;  // 1 MiB
  Block* fresh();

  std::size_t limit_;  // bytes
  Bytes bytes_in_use_{0}, refusals_{0};
  std::array<Bytes, kBufferKinds> by_kind_{};
  void (*told_)(void*) = nullptr;
  void* told_self_ = nullptr;
  std::uint64_t owed_ = 0;  // bytes that last, beyond the reserve
  Block* free_ = nullptr;
  std::size_t kept_ = 0;
  std::vector<Block*> cold_;             // without pages
  std::vector<Block*> slabs_;            // all there is, kSlabBlocks each
  std::size_t slab_used_ = kSlabBlocks;  // of the last one
};

// Memory outside the pool that counts as taken from it, for as long as this lives.
class Reservation {
 public:
  Reservation(BufferPool& pool, BufferKind kind) : pool_(pool), kind_(kind) {}
  ~Reservation() { pool_.release(kind_, held_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  // From now on so many bytes. False at the pool's bound: as many as before.
  bool set(std::size_t bytes, Bound bound = Bound::limit) {
    if (bytes > held_ && !pool_.reserve(kind_, bytes - held_, bound)) return false;
    if (bytes < held_) pool_.release(kind_, held_ - bytes);
    held_ = bytes;
    return true;
  }

 private:
  BufferPool& pool_;
  const BufferKind kind_;
  std::size_t held_ = 0;
};

class Chain {
 public:
  explicit Chain(BufferPool& pool) : pool_(&pool) {}
  ~Chain() { clear(); }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // False: the pool is exhausted, part of the bytes may be in.
  bool append(std::span<const char> bytes, Bound bound = Bound::limit);
  std::span<const char> front() const;             // the first contiguous piece; empty where the chain is
  std::size_t pieces(std::span<iovec> out) const;  // the first pieces, for writev; how many
  void consume(std::size_t bytes);                 // at most size()
  void clear();
  std::size_t size() const { return size_; }
  std::size_t held() const { return blocks_ * sizeof(BufferPool::Block); }  // octets of the pool
  bool empty() const { return size_ == 0; }

 private:
  BufferPool* pool_;
  BufferPool::Block* head_ = nullptr;
  BufferPool::Block* tail_ = nullptr;
  std::size_t size_ = 0, blocks_ = 0;
};

}  // namespace bloomwall::proxy
