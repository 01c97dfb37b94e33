// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/record_stage.h"

#include <cstring>

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

void RecordStage::publish() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

std::array<RecordRun, 2> RecordStage::left(std::size_t partition) const {
  const Cursor& cursor = cursors_[partition];
  const std::byte* const row = rows() + partition * row_bytes(form_);
  return {{{.bytes = {cursor.chunk, cursor.bytes}, .form = form_},
           {.bytes = {row, counts_[partition] * record_bytes(form_)}, .form = form_}}};
}

}  // namespace bloomwall::filter
