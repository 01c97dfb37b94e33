// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/stream_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "filter/builder/chunk_pool.h"
#include "filter/builder/quantity.h"
#include "filter/builder/record_stage.h"
#include "filter/builder/section_rounds.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kUsualPartitions = 4096;  // rows of so many still lie in a processor's cache
constexpr std::size_t kMostChunkRows = 341;     // 64 KiB
// Chunks for each row there is: with few, much of the memory would be in chunks that are not full yet.
constexpr std::uint64_t kChunksPerRow = 16;
constexpr std::uint64_t kLeastRowsPerRow = 2;  // one in the hands of a stage, and one that can be applied

struct Dealt {
  StreamMemory memory;
  std::uint64_t least = 0;
};

Dealt deal(const FilterDraft& draft, std::uint64_t ram_bytes, unsigned threads, unsigned page_bits) {
  const Partitions partitions(draft, page_bits);
  Dealt out;
  StreamMemory& m = out.memory;
  m.page_bits = page_bits;
  for (const auto& section : draft.sections()) {
    if (section.type == SectionType::hosts) m.host_bytes = section.geometry.bytes();
    if (section.type == SectionType::raw) m.form = RecordForm::any;
  }
  const std::uint64_t buffer = partitions.size() == 0 ? 0 : partitions.buffer_bytes();
  const bool is_roomy = std::uint64_t{2} * threads * buffer <= ram_bytes / 32;
  m.apply_threads = is_roomy ? 2 * threads : threads;
  const std::uint64_t fixed = m.host_bytes +
                              threads * (kThreadBytes + RecordStage::bytes_for(partitions.size(), m.form)) +
                              m.apply_threads * buffer;
  const std::uint64_t rows = threads * partitions.size();
  out.least = fixed + rows * kLeastRowsPerRow * (row_bytes(m.form) + ChunkPool::kBytesPerChunk);
  if (ram_bytes < out.least || rows == 0) return out;
  const std::uint64_t pool = ram_bytes - fixed;
  m.rows_per_chunk = std::clamp<std::uint64_t>(pool / row_bytes(m.form) / (rows * kChunksPerRow), 1, kMostChunkRows);
  const std::uint64_t chunk = m.rows_per_chunk * row_bytes(m.form);
  m.pool_bytes = pool / (chunk + ChunkPool::kBytesPerChunk) * chunk;
  return out;
}

}  // namespace

Result<StreamMemory> deal_out(const FilterDraft& draft, std::uint64_t ram_bytes, unsigned threads) {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned bits = Partitions::kLeastPageBits; bits <= kPartitionPageBits; ++bits) {
    const bool is_last = bits == kPartitionPageBits;
    if (!is_last && Partitions(draft, bits).size() > kUsualPartitions) continue;
    const Dealt dealt = deal(draft, ram_bytes, threads, bits);
    if (dealt.least <= ram_bytes) return dealt.memory;
    least = std::min(least, dealt.least);
  }
  return unexpected(
      Error{Errc::limit,
            {},
            fmt::format("a build of this size with {} threads takes {} of memory at the least, and may take "
                        "{}; free memory, raise --ram or lower --threads",
                        threads, format_bytes(least), format_bytes(ram_bytes))});
}

}  // namespace bloomwall::filter
