// The memory of records on their way to the pages of a file: chunks of a fixed number of rows. A stage (record_stage.h) takes
// free ones and puts each, once it is full, to its partition; who applies a partition (section_rounds.h) takes what was put
// there and gives it back. Partitions take their turn one after the other, so that each is applied when most has gathered for
// it: with memory for M records nearly 2 M lie between two visits of the same partition.
// Thread-safe. One lock, which a stage takes twice a chunk.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "filter/builder/anonymous_memory.h"
#include "filter/builder/record_form.h"

namespace bloomwall::filter {

class ChunkPool {
 public:
  static constexpr std::size_t kBytesPerChunk = 2 * sizeof(std::byte*);  // besides its rows, in lists that grow

  ChunkPool(AnonymousMemory memory, std::size_t rows_per_chunk, RecordForm form, std::size_t partitions);

  std::byte* take();  // null: none is free
  void put(std::size_t partition, std::byte* full);

  // All full chunks of one partition, which is nobody else's until they are given back.
  struct Batch {
    std::size_t partition = 0;
    std::vector<std::byte*> chunks = {};
  };
  std::optional<Batch> next();          // of the next one in turn that has any; nothing where none has
  Batch all_of(std::size_t partition);  // of this one, which nobody has; may be empty
  void give_back(const Batch& batch);   // its chunks are free

  // Wait until a chunk is free, but no longer than this.
  void wait_for_room(std::chrono::milliseconds longest);
  // Waits until few chunks are free and there is a batch to apply. False: close() was called.
  bool wait_for_work();
  void close();

  std::size_t rows_per_chunk() const { return rows_; }
  std::size_t chunk_bytes() const { return rows_ * row_bytes(form_); }
  std::size_t chunks() const { return chunks_; }
  RecordForm form() const { return form_; }

 private:
  std::size_t free_now() const { return chunks_ - used_ + free_.size(); }
  bool is_work_due() const;
  Batch take_all(std::size_t partition);

  AnonymousMemory memory_;
  std::size_t rows_;
  RecordForm form_;
  std::size_t chunks_;
  std::mutex mutex_;
  std::condition_variable room_, work_;
  std::size_t used_ = 0;  // from the beginning of memory_; the rest was never touched
  std::vector<std::byte*> free_;
  std::vector<std::vector<std::byte*>> full_;  // by partition
  std::vector<bool> is_taken_;                 // by partition: a batch of it is out
  std::size_t turn_ = 0;
  std::size_t due_ = 0;  // full chunks of partitions that nobody has
  bool is_closed_ = false;
};

}  // namespace bloomwall::filter
