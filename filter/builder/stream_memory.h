// How a budget of memory is dealt out to a streaming build: H, the rows of every thread, a buffer of one partition for every
// thread that applies, sketches and caches; what is left holds records. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "filter/builder/record_form.h"
#include "filter/file/filter_draft.h"

namespace bloomwall::filter {

struct StreamMemory {
  unsigned page_bits = 0;      // of a partition
  unsigned apply_threads = 1;  // more than there are processors, so that some compute while others wait for the disk
  std::uint64_t host_bytes = 0;
  std::uint64_t pool_bytes = 0;
  std::size_t rows_per_chunk = 1;
  RecordForm form = RecordForm::paths;
};

// Error `limit`, naming the least budget, where this one does not suffice.
Result<StreamMemory> deal_out(const FilterDraft& draft, std::uint64_t ram_bytes, unsigned threads);

// What a thread has for itself besides its rows: sketches, cache of hosts, blocks of text.
inline constexpr std::uint64_t kThreadBytes = std::uint64_t{2} << 20;

}  // namespace bloomwall::filter
