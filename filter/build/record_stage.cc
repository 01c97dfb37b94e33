// SPDX-License-Identifier: Apache-2.0
#include "filter/build/record_stage.h"

#include <algorithm>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace bloomwall::filter {
namespace {

// Past the cache where the processor can: the chunk is read again much later.
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

RecordStage::RecordStage(ChunkPool& pool, std::size_t partitions)
    : pool_(pool),
      form_(pool.form()),
      rows_(partitions * row_bytes(form_) / sizeof(Line)),
      counts_(partitions),
      cursors_(partitions) {}

bool RecordStage::hand_over(std::size_t partition) {
  Cursor& cursor = cursors_[partition];
  if (cursor.rows_left == 0) {
    std::byte* const chunk = pool_.take();
    if (chunk == nullptr) return false;
    cursor = {.next = chunk, .rows_left = pool_.rows_per_chunk()};
    taken_.push_back({.partition = partition, .rows = chunk, .rows_used = 0});
  }
  copy_row(cursor.next, row_at(partition), row_bytes(form_));
  cursor.next += row_bytes(form_);
  --cursor.rows_left;
  counts_[partition] = 0;
  return true;
}

void RecordStage::publish() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

std::vector<RecordStage::Chunk> RecordStage::chunks() const {
  std::vector<Chunk> out = taken_;
  const std::size_t chunk_bytes = pool_.rows_per_chunk() * row_bytes(form_);
  for (Chunk& chunk : out) {
    const Cursor& cursor = cursors_[chunk.partition];
    const bool is_last = cursor.next > chunk.rows && cursor.next <= chunk.rows + chunk_bytes;
    chunk.rows_used = pool_.rows_per_chunk() - (is_last ? cursor.rows_left : 0);
  }
  return out;
}

void RecordStage::reset() {
  std::fill(counts_.begin(), counts_.end(), std::uint8_t{0});
  std::fill(cursors_.begin(), cursors_.end(), Cursor{});
  taken_.clear();
}

}  // namespace bloomwall::filter
