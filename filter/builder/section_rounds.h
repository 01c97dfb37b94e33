// Applies records to the pages of P and R in the temporary file, one partition at a time: reads its pages (zeros the
// first time), sets the bits, writes the pages back. Partitions are independent: several threads work, each with a
// buffer of one partition, while others still gather records. A round is one visit of every partition; the last round
// visits all partitions once more and makes their digests.
// The file's bytes do not depend on the number of rounds or on what was in which round.
// Cost: some 12 ns a key and thread with 2x8, 25 with 4x4 (bench/build_bench). The file is read and written once a
// round; there is one round for each 1.9 times the keys that fit in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "filter/bits/section.h"
#include "filter/builder/draft_pages.h"
#include "filter/file/filter_writer.h"
#include "filter/file/memory.h"

namespace bloomwall::filter {

// Keys of a streamed build between the lists and the pages of the file, as records:
//   PartitionBuffers  one thread's records, distributed by partition
//   ChunkPool         the memory that all threads share; full chunks wait there until their partition is applied
//   SectionRounds     applies them to the pages
// A record has six bytes in P (page within a partition 13 bits, fingerprint 35 bits) and ten in R (fingerprint 64 bits,
// page 13). Where a file has both sections, all records have ten.

inline constexpr unsigned kPartitionPageBits = 13;  // of a record: at most so many pages make a partition
inline constexpr std::size_t kRowRecords = 32;

// Pages are counted from the first page of the partition. Both forms are private to one run of one build.
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

// Records that lie one after the other.
struct RecordRun {
  std::span<const std::byte> bytes;
  RecordForm form = RecordForm::paths;
};

// Chunks of a fixed number of rows. PartitionBuffers takes free chunks and puts each full one to its partition;
// SectionRounds takes all chunks of a partition, applies them and gives them back. Partitions are applied round robin,
// each when most records wait for it: with memory for M records nearly 2 M lie between two visits of one partition.
// Thread-safe. One lock, taken twice a chunk by each PartitionBuffers.
class ChunkPool {
 public:
  static constexpr std::size_t kBytesPerChunk = 2 * sizeof(std::byte*);  // besides its rows, in lists that grow

  ChunkPool(AnonymousMemory memory, std::size_t rows_per_chunk, RecordForm form, std::size_t partitions);

  std::byte* take();  // null: none is free
  void put(std::size_t partition, std::byte* full);

  // All full chunks of one partition. No other caller gets chunks of that partition until give_back().
  struct Batch {
    std::size_t partition = 0;
    std::vector<std::byte*> chunks = {};
  };
  std::optional<Batch> next();          // of the next partition in turn that has chunks; nothing where none has
  Batch all_of(std::size_t partition);  // of this partition, of which no batch is out; may be empty
  void give_back(const Batch& batch);   // frees its chunks

  // Waits until a chunk is free, at most this long.
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
  std::size_t due_ = 0;  // full chunks of partitions that are not handed out
  bool is_closed_ = false;
};

// One thread's records, distributed by partition, a range of pages that fits a processor's cache while it is filled.
// Each partition has a row of 32 records, so that chunks are written in whole cache lines, past the cache. Full rows go
// to a chunk of the partition, full chunks to the pool.
// Not thread-safe. Takes no lock but the pool's.
class PartitionBuffers {
 public:
  PartitionBuffers(ChunkPool& pool, std::size_t partitions);
  // False: the record was added, but no other may be added before hand_over() of that partition returns true.
  bool add(std::size_t partition, const Place& place) {
    put_record(form_, place, row_at(partition) + counts_[partition] * record_bytes(form_));
    return ++counts_[partition] < kRowRecords || hand_over(partition);
  }
  // Copies a full row to its chunk. False: it needs a new chunk, and none is free.
  bool hand_over(std::size_t partition);
  // Drops a row that could not be handed over.
  void drop_row(std::size_t partition) { counts_[partition] = 0; }

  // A store fence. Each thread that has added calls it before another thread calls left(): rows are written past the
  // cache, which no lock orders.
  static void publish();
  // The records that are in no full chunk: those of the partial chunk, and of the partial row. Only while no thread
  // adds.
  std::array<RecordRun, 2> left(std::size_t partition) const;

  // The memory of PartitionBuffers besides its chunks.
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

// The pages of P and R, cut into partitions of 2^page_bits pages (the last one of a section shorter).
class Partitions {
 public:
  // A leaf of the digests at least, so that a partition is made of whole leaves.
  static constexpr unsigned kLeastPageBits = 10;
  Partitions(const FilterDraft& draft, unsigned page_bits);
  std::size_t size() const { return all_.size(); }
  std::uint64_t buffer_bytes() const { return std::uint64_t{kPageBytes} << page_bits_; }

  struct Partition {
    std::size_t section = 0;  // index in draft.sections()
    std::uint64_t first_page = 0, pages = 0;
  };
  const Partition& operator[](std::size_t i) const { return all_[i]; }
  // Where records of a section begin.
  std::size_t first_of(std::size_t section) const { return first_[section]; }
  unsigned page_bits() const { return page_bits_; }

 private:
  unsigned page_bits_;
  std::vector<Partition> all_;
  std::vector<std::size_t> first_;
};

// Sets the bits of records in the pages of one partition, which only this thread writes. Prefetches lines some records
// ahead.
void insert_records(SectionWriter& section, RecordRun run);

class SectionRounds {
 public:
  // At most `threads` calls of apply_next() work at once.
  SectionRounds(const FilterDraft& draft, PagedFile& file, const Partitions& partitions, ChunkPool& pool,
                unsigned threads);
  // Applies the next batch in turn and frees its chunks. False: there is none, or no buffer for it. Thread-safe.
  Result<bool> apply_next();
  // After the last record: applies what the pool and all buffers hold, on all threads, and makes the digests. Error io
  // "interrupted" where `stop` returns true. `on_idle`, if any, is called by this thread at the beginning and after
  // each partition of its own.
  Result<void> apply_last(const std::vector<const PartitionBuffers*>& all_buffers, const std::function<bool()>& stop,
                          const std::function<void()>& on_idle = {});

  // Thread-safe.
  struct Figures {
    unsigned rounds = 0;  // that are done
    bool in_round = false;
    std::uint64_t partitions_done = 0;  // of the round that is not
  };
  Figures figures() const;
  // After the last round, by section of the draft; empty for H.
  std::vector<FilterDraft::SectionFacts>& facts() { return facts_; }

 private:
  struct GiveBack {
    SectionRounds* owner = nullptr;
    void operator()(AnonymousMemory* buffer) const { owner->give_back(buffer); }
  };
  using Buffer = std::unique_ptr<AnonymousMemory, GiveBack>;  // of one partition
  Result<Buffer> borrow_buffer();                             // null: all are in use
  void give_back(AnonymousMemory* buffer);
  // Visits the batch's partition and frees its chunks. `last_buffers`: in the last round, which applies their records
  // as well and makes the digests.
  Result<void> visit(const ChunkPool::Batch& batch, AnonymousMemory& buffer,
                     const std::vector<const PartitionBuffers*>* last_buffers = nullptr);
  Result<void> apply(const ChunkPool::Batch& batch, std::span<std::byte> buffer,
                     const std::vector<const PartitionBuffers*>* last_buffers);

  const FilterDraft& draft_;
  PagedFile& file_;
  const Partitions& partitions_;
  ChunkPool& pool_;
  unsigned threads_;
  std::vector<std::uint8_t> written_;  // by partition; belongs to the thread that has the partition's batch
  std::vector<FilterDraft::SectionFacts> facts_;
  std::mutex mutex_;  // of the buffers
  std::vector<std::unique_ptr<AnonymousMemory>> buffers_;
  std::vector<AnonymousMemory*> spare_;
  std::atomic<unsigned> busy_ = 0;         // apply_next() at work
  std::atomic<std::uint64_t> visits_ = 0;  // of partitions, before the last round
  std::atomic<std::uint64_t> last_visits_ = 0;
  std::atomic<bool> is_last_ = false, is_done_ = false;
};

}  // namespace bloomwall::filter
