// Keys on their way to the pages of a file that does not fit in memory: records of six bytes (page within a partition 13
// bits, fingerprint 35 bits), dealt out by partition, a range of pages that fits a processor's cache while it is filled.
// Each thread has a RecordStage: a row of 32 records for each partition, so that memory is written three whole cache lines at
// a time, past the cache; rows go to chunks, and chunks come from one pool of a fixed size. When the pool is empty, what
// is in it has to be written out (a round), and the pool begins anew. No lock anywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "filter/bits/section.h"
#include "filter/build/anonymous_memory.h"

namespace bloomwall::filter {

inline constexpr unsigned kPartitionPageBits = 13;  // of a record: at most so many pages make a partition
inline constexpr std::size_t kRecordBytes = 6;
inline constexpr std::size_t kRowRecords = 32;
inline constexpr std::size_t kRowBytes = kRecordBytes * kRowRecords;  // three cache lines

constexpr std::uint64_t record_of(std::uint64_t page_in_partition, std::uint64_t fingerprint) {
  return page_in_partition << kFingerprintBits | fingerprint;
}
inline Place place_of_record(const std::byte* record) {
  std::uint64_t value = 0;
  std::memcpy(&value, record, kRecordBytes);
  return {.page = value >> kFingerprintBits, .fingerprint = value & ((std::uint64_t{1} << kFingerprintBits) - 1)};
}

// Chunks of so many rows. take() from any thread.
class ChunkPool {
 public:
  ChunkPool(AnonymousMemory memory, std::size_t rows_per_chunk)
      : memory_(std::move(memory)), rows_(rows_per_chunk), chunks_(memory_.bytes().size() / (rows_ * kRowBytes)) {}
  std::byte* take() {  // null: empty
    const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    return chunk < chunks_ ? memory_.bytes().data() + chunk * rows_ * kRowBytes : nullptr;
  }
  void reset() { next_.store(0); }
  std::size_t rows_per_chunk() const { return rows_; }
  std::size_t chunks() const { return chunks_; }

 private:
  AnonymousMemory memory_;
  std::size_t rows_;
  std::size_t chunks_;
  std::atomic<std::size_t> next_ = 0;
};

// Records that lie one after the other.
using RecordRun = std::span<const std::byte>;

class RecordStage {
 public:
  RecordStage(ChunkPool& pool, std::size_t partitions);
  // False: it has been taken, but nothing more may be added before the next round.
  bool add(std::size_t partition, std::uint64_t record) {
    std::byte* const at = rows_[partition].data() + counts_[partition] * kRecordBytes;
    std::memcpy(at, &record, kRecordBytes);
    return ++counts_[partition] < kRowRecords || hand_over(partition);
  }

  // By each thread that has added, before it meets the one that reads: rows are written past the cache, and no lock orders that.
  static void publish();

  struct Chunk {
    std::size_t partition;
    const std::byte* rows;
    std::size_t rows_used;
  };
  // What is here, while nobody adds: chunks in any order, and the row of a partition that is not full.
  std::vector<Chunk> chunks() const;
  RecordRun row(std::size_t partition) const { return {rows_[partition].data(), counts_[partition] * kRecordBytes}; }
  void reset();

  // What a stage takes besides its chunks.
  static constexpr std::uint64_t bytes_for(std::size_t partitions) {
    return partitions * (kRowBytes + sizeof(Cursor) + 1);
  }

 private:
  struct alignas(64) Row : std::array<std::byte, kRowBytes> {};
  struct Cursor {
    std::byte* next = nullptr;
    std::size_t rows_left = 0;
  };
  bool hand_over(std::size_t partition);

  ChunkPool& pool_;
  std::vector<Row> rows_;
  std::vector<std::uint8_t> counts_;
  std::vector<Cursor> cursors_;
  std::vector<Chunk> taken_;  // rows_used is not kept up here
};

}  // namespace bloomwall::filter
