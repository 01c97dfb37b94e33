// Applies records to the pages of P and R in the temporary file, round by round: for each partition its pages are read (in
// the first round they are nothing but zeros), the bits are set, the pages are written back. Partitions are independent, so
// all threads work, each with a buffer of one partition. In the last round every partition is visited and digested.
// The file's bytes do not depend on how many rounds there were or what was in which.
// Cost: some 12 ns a key and thread with 2x8, 25 with 4x4 (bench/build_bench); the file read and written once a round.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "filter/build/paged_file.h"
#include "filter/build/record_stage.h"
#include "filter/file/filter_draft.h"

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

// Sets the bits of records in the pages of one partition, which are this thread's alone. Lines are fetched some records ahead.
void insert_records(SectionWriter& section, RecordRun run);

class SectionRounds {
 public:
  SectionRounds(const FilterDraft& draft, PagedFile& file, const Partitions& partitions, unsigned threads);
  // Everything that the stages hold, which are empty afterwards (the pool is the caller's to reset). `last`: there will be no
  // more. Ends early, with the error io "interrupted", where `stop` says so. `meanwhile`, if any, is called by this thread
  // at the beginning and after each partition that it has done.
  Result<void> apply(const std::vector<RecordStage*>& stages, bool last, const std::function<bool()>& stop,
                     const std::function<void()>& meanwhile = {});
  unsigned rounds() const { return rounds_; }
  std::uint64_t partitions_done() const { return done_.load(std::memory_order_relaxed); }  // of this round; thread-safe
  // After the last round, by section of the draft; nothing for H.
  std::vector<FilterDraft::SectionFacts>& facts() { return facts_; }

 private:
  struct Work;
  Result<void> apply_one(std::size_t partition, const Work& work, std::span<std::byte> buffer);

  const FilterDraft& draft_;
  PagedFile& file_;
  const Partitions& partitions_;
  unsigned threads_;
  unsigned rounds_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::vector<AnonymousMemory> buffers_;  // by thread
  std::vector<std::uint8_t> written_;     // by partition
  std::vector<FilterDraft::SectionFacts> facts_;
};

}  // namespace bloomwall::filter
