// Keys on their way to the pages of a file that does not fit in memory: records of six bytes in P (page within a partition 13
// bits, fingerprint 35 bits) and of ten in R (fingerprint 64 bits, page 13), dealt out by partition, a range of pages that
// fits a processor's cache while it is filled. Where a file has both sections, all are of ten.
// Each thread has a RecordStage: a row of 32 records for each partition, so that memory is written whole cache lines at a time,
// past the cache; rows go to chunks, and chunks come from one pool of a fixed size. When the pool is empty, what
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
inline constexpr std::size_t kRowRecords = 32;

// `page` of a place counts from the first one of its partition here. Both forms are private to one run of one build.
enum class RecordForm : std::uint8_t { paths, any };
constexpr std::size_t record_bytes(RecordForm form) { return form == RecordForm::paths ? 6 : 10; }
constexpr std::size_t row_bytes(RecordForm form) {
  return record_bytes(form) * kRowRecords;
}  // three or five cache lines

inline void put_record(RecordForm form, const Place& place, std::byte* at) {
  if (form == RecordForm::paths) {
    const std::uint64_t value = place.page << fingerprint_bits(SectionKind::paths) | place.fingerprint;
    std::memcpy(at, &value, record_bytes(RecordForm::paths));
    return;
  }
  const auto page = static_cast<std::uint16_t>(place.page);
  std::memcpy(at, &place.fingerprint, sizeof place.fingerprint);
  std::memcpy(at + sizeof place.fingerprint, &page, sizeof page);
}
inline Place place_in(RecordForm form, const std::byte* record) {
  if (form == RecordForm::paths) {
    constexpr unsigned kBits = fingerprint_bits(SectionKind::paths);
    std::uint64_t value = 0;
    std::memcpy(&value, record, record_bytes(RecordForm::paths));
    return {.page = value >> kBits, .fingerprint = value & ((std::uint64_t{1} << kBits) - 1)};
  }
  Place out;
  std::uint16_t page = 0;
  std::memcpy(&out.fingerprint, record, sizeof out.fingerprint);
  std::memcpy(&page, record + sizeof out.fingerprint, sizeof page);
  out.page = page;
  return out;
}

// Chunks of so many rows. take() from any thread.
class ChunkPool {
 public:
  ChunkPool(AnonymousMemory memory, std::size_t rows_per_chunk, RecordForm form)
      : memory_(std::move(memory)),
        rows_(rows_per_chunk),
        form_(form),
        chunks_(memory_.bytes().size() / (rows_ * row_bytes(form_))) {}
  std::byte* take() {  // null: empty
    const std::size_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    return chunk < chunks_ ? memory_.bytes().data() + chunk * rows_ * row_bytes(form_) : nullptr;
  }
  void reset() { next_.store(0); }
  std::size_t rows_per_chunk() const { return rows_; }
  std::size_t chunks() const { return chunks_; }
  RecordForm form() const { return form_; }

 private:
  AnonymousMemory memory_;
  std::size_t rows_;
  RecordForm form_;
  std::size_t chunks_;
  std::atomic<std::size_t> next_ = 0;
};

// Records that lie one after the other.
struct RecordRun {
  std::span<const std::byte> bytes;
  RecordForm form = RecordForm::paths;
};

class RecordStage {
 public:
  RecordStage(ChunkPool& pool, std::size_t partitions);
  // False: it has been taken, but nothing more may be added before the next round.
  bool add(std::size_t partition, const Place& place) {
    put_record(form_, place, row_at(partition) + counts_[partition] * record_bytes(form_));
    return ++counts_[partition] < kRowRecords || hand_over(partition);
  }
  RecordForm form() const { return form_; }

  // By each thread that has added, before it meets the one that reads: rows are written past the cache, and no lock orders that.
  static void publish();

  struct Chunk {
    std::size_t partition;
    const std::byte* rows;
    std::size_t rows_used;
  };
  // What is here, while nobody adds: chunks in any order, and the row of a partition that is not full.
  std::vector<Chunk> chunks() const;
  RecordRun row(std::size_t partition) const {
    return {.bytes = {rows_.data()->data() + partition * row_bytes(form_), counts_[partition] * record_bytes(form_)},
            .form = form_};
  }
  void reset();

  // What a stage takes besides its chunks.
  static constexpr std::uint64_t bytes_for(std::size_t partitions, RecordForm form) {
    return partitions * (row_bytes(form) + sizeof(Cursor) + 1);
  }

 private:
  struct alignas(64) Line : std::array<std::byte, 64> {};
  struct Cursor {
    std::byte* next = nullptr;
    std::size_t rows_left = 0;
  };
  bool hand_over(std::size_t partition);
  std::byte* row_at(std::size_t partition) { return rows_.data()->data() + partition * row_bytes(form_); }

  ChunkPool& pool_;
  RecordForm form_;
  std::vector<Line> rows_;  // one row after the other
  std::vector<std::uint8_t> counts_;
  std::vector<Cursor> cursors_;
  std::vector<Chunk> taken_;  // rows_used is not kept up here
};

}  // namespace bloomwall::filter
