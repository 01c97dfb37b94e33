// Applies records to the pages of P and R in the temporary file, one partition at a time: reads its pages (zeros the
// first time), sets the bits, writes the pages back. Partitions are independent: several threads work, each with a
// buffer of one partition, while others still gather records. A round is one visit of every partition; the last round
// visits all partitions once more and makes their digests.
// The file's bytes do not depend on the number of rounds or on what was in which round.
// Cost: some 12 ns a key and thread with 2x8, 25 with 4x4 (bench/build_bench). The file is read and written once a
// round; there is one round for each 1.9 times the keys that fit in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "filter/builder/draft_pages.h"
#include "filter/builder/records.h"
#include "filter/file/filter_writer.h"

namespace bloomwall::filter {

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
