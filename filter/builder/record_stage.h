// One thread's keys on their way to the pages of a file that does not fit in memory, dealt out by partition, a range of pages
// that fits a processor's cache while it is filled: a row of 32 records for each partition, so that memory is written whole
// cache lines at a time, past the cache; rows go to a chunk of the partition, and full chunks to the pool that all stages share.
// Not thread-safe. No lock but the pool's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "filter/builder/chunk_pool.h"
#include "filter/builder/record_form.h"

namespace bloomwall::filter {

class RecordStage {
 public:
  RecordStage(ChunkPool& pool, std::size_t partitions);
  // False: it has been taken, but nothing more may be added before hand_over() of that partition gave true.
  bool add(std::size_t partition, const Place& place) {
    put_record(form_, place, row_at(partition) + counts_[partition] * record_bytes(form_));
    return ++counts_[partition] < kRowRecords || hand_over(partition);
  }
  // A full row goes to its chunk. False: it needs a new one, and none is free.
  bool hand_over(std::size_t partition);
  // A row that could not be handed over is given up.
  void drop_row(std::size_t partition) { counts_[partition] = 0; }

  // By each thread that has added, before it meets one that reads what is left(): rows are written past the cache, and no lock
  // orders that.
  static void publish();
  // What no full chunk holds, while nobody adds: the rows of a chunk that is not full, and the row that is not.
  std::array<RecordRun, 2> left(std::size_t partition) const;

  // What a stage takes besides its chunks.
  static constexpr std::uint64_t bytes_for(std::size_t partitions, RecordForm form) {
    return partitions * (row_bytes(form) + sizeof(Cursor) + 1);
  }

 private:
  struct alignas(64) Line : std::array<std::byte, 64> {};
  struct Cursor {
    std::byte* chunk = nullptr;  // null: none
    std::size_t bytes = 0;       // of it that are used
  };
  const std::byte* rows() const { return rows_.data()->data(); }
  std::byte* row_at(std::size_t partition) { return rows_.data()->data() + partition * row_bytes(form_); }

  ChunkPool& pool_;
  RecordForm form_;
  std::vector<Line> rows_;  // one row after the other
  std::vector<std::uint8_t> counts_;
  std::vector<Cursor> cursors_;
};

}  // namespace bloomwall::filter
