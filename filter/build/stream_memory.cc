// SPDX-License-Identifier: Apache-2.0
#include "filter/build/stream_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "filter/build/quantity.h"
#include "filter/build/section_rounds.h"

namespace bloomwall::filter {
namespace {

constexpr std::size_t kUsualPartitions = 4096;  // rows of so many still lie in a processor's cache
constexpr std::size_t kMostChunkRows = 341;     // 64 KiB
// Chunks for each row there is: with few, many of them are half empty when a round begins.
constexpr std::uint64_t kChunksPerRow = 16;
constexpr std::uint64_t kLeastRowsPerRow = 2;

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
  out.least = fixed + rows * kLeastRowsPerRow * row_bytes(m.form);
  if (ram_bytes < out.least || rows == 0) return out;
  m.pool_bytes = ram_bytes - fixed;
  m.rows_per_chunk =
      std::clamp<std::uint64_t>(m.pool_bytes / row_bytes(m.form) / (rows * kChunksPerRow), 1, kMostChunkRows);
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
