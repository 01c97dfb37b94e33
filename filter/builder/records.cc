// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/records.h"

#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace bloomwall::filter {
namespace {

// Work begins when at most an eighth of the chunks is free: the more records have gathered, the less often each
// partition is read and written, and threads that fill chunks should not have to wait.
constexpr std::size_t kLowShare = 8;

}  // namespace

ChunkPool::ChunkPool(AnonymousMemory memory, std::size_t rows_per_chunk, RecordForm form, std::size_t partitions)
    : memory_(std::move(memory)),
      rows_(rows_per_chunk),
      form_(form),
      chunks_(memory_.bytes().size() / chunk_bytes()),
      full_(partitions),
      is_taken_(partitions) {}

bool ChunkPool::is_work_due() const { return due_ > 0 && free_now() <= chunks_ / kLowShare; }

std::byte* ChunkPool::take() {
  const std::lock_guard lock(mutex_);
  std::byte* chunk = nullptr;
  if (!free_.empty()) {
    chunk = free_.back();
    free_.pop_back();
  } else if (used_ < chunks_) {
    chunk = memory_.bytes().data() + used_++ * chunk_bytes();
  }
  if (is_work_due()) work_.notify_one();
  return chunk;
}

void ChunkPool::put(std::size_t partition, std::byte* full) {
  const std::lock_guard lock(mutex_);
  full_[partition].push_back(full);
  if (!is_taken_[partition]) ++due_;
  if (is_work_due()) work_.notify_one();
}

ChunkPool::Batch ChunkPool::take_all(std::size_t partition) {
  due_ -= full_[partition].size();
  is_taken_[partition] = true;
  return {.partition = partition, .chunks = std::exchange(full_[partition], {})};
}

std::optional<ChunkPool::Batch> ChunkPool::next() {
  const std::lock_guard lock(mutex_);
  if (due_ == 0) return std::nullopt;
  while (is_taken_[turn_] || full_[turn_].empty()) turn_ = (turn_ + 1) % full_.size();
  const std::size_t partition = turn_;
  turn_ = (turn_ + 1) % full_.size();
  return take_all(partition);
}

ChunkPool::Batch ChunkPool::all_of(std::size_t partition) {
  const std::lock_guard lock(mutex_);
  return take_all(partition);
}

void ChunkPool::give_back(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), batch.chunks.begin(), batch.chunks.end());
  is_taken_[batch.partition] = false;
  due_ += full_[batch.partition].size();
  room_.notify_all();
  if (is_work_due()) work_.notify_one();
}

void ChunkPool::wait_for_room(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  room_.wait_for(lock, longest, [this] { return free_now() > 0; });
}

bool ChunkPool::wait_for_work() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] { return is_closed_ || is_work_due(); });
  return !is_closed_;
}

void ChunkPool::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  work_.notify_all();
}

namespace {

// Written past the cache where the processor can, because the chunk is read again much later.
void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  for (std::size_t at = 0; at < bytes; at += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace

PartitionBuffers::PartitionBuffers(ChunkPool& pool, std::size_t partitions)
    : pool_(pool),
      form_(pool.form()),
      rows_(partitions * row_bytes(form_) / sizeof(Line)),
      counts_(partitions),
      cursors_(partitions) {}

bool PartitionBuffers::hand_over(std::size_t partition) {
  Cursor& cursor = cursors_[partition];
  if (cursor.chunk == nullptr) cursor = {.chunk = pool_.take(), .bytes = 0};
  if (cursor.chunk == nullptr) return false;
  copy_row(cursor.chunk + cursor.bytes, row_at(partition), row_bytes(form_));
  cursor.bytes += row_bytes(form_);
  counts_[partition] = 0;
  if (cursor.bytes < pool_.chunk_bytes()) return true;
  publish();
  pool_.put(partition, cursor.chunk);
  cursor = {};
  return true;
}

void PartitionBuffers::publish() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

std::array<RecordRun, 2> PartitionBuffers::left(std::size_t partition) const {
  const Cursor& cursor = cursors_[partition];
  const std::byte* const row = rows() + partition * row_bytes(form_);
  return {{{.bytes = {cursor.chunk, cursor.bytes}, .form = form_},
           {.bytes = {row, counts_[partition] * record_bytes(form_)}, .form = form_}}};
}

}  // namespace bloomwall::filter
