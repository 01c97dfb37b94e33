// SPDX-License-Identifier: Apache-2.0
#include "filter/build/section_rounds.h"
#include "filter/parallel.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

namespace bloomwall::filter {
namespace {

constexpr std::uint64_t kLeafPages = kLeafBytes / kPageBytes;
static_assert(kLeafPages == std::uint64_t{1} << Partitions::kLeastPageBits);

}  // namespace

void insert_records(SectionWriter& section, RecordRun run) {
  std::array<Place, 256> places;  // long enough for the fetching ahead to pay
  const std::size_t step = record_bytes(run.form);
  while (!run.bytes.empty()) {
    std::size_t count = 0;
    for (; count < places.size() && !run.bytes.empty(); run.bytes = run.bytes.subspan(step)) {
      places[count++] = place_in(run.form, run.bytes.data());
    }
    section.insert_exclusive(std::span(places).first(count));
  }
}

Partitions::Partitions(const FilterDraft& draft, unsigned page_bits) : page_bits_(page_bits) {
  const std::uint64_t most = std::uint64_t{1} << page_bits;
  for (std::size_t s = 0; s < draft.sections().size(); ++s) {
    first_.push_back(all_.size());
    const auto& section = draft.sections()[s];
    if (section.type == SectionType::hosts) continue;
    const std::uint64_t pages = section.geometry.pages;
    for (std::uint64_t at = 0; at < pages; at += most) {
      all_.push_back({.section = s, .first_page = at, .pages = std::min(most, pages - at)});
    }
  }
}

// What one round has to do: the chunks of all stages, by partition.
struct SectionRounds::Work {
  const std::vector<RecordStage*>& stages;
  bool last;
  std::vector<RecordStage::Chunk> chunks;
  std::vector<std::size_t> first;  // of a partition's chunks; one more than there are partitions

  Work(const std::vector<RecordStage*>& the_stages, bool is_last, std::size_t partitions)
      : stages(the_stages), last(is_last), first(partitions + 1) {
    std::vector<RecordStage::Chunk> all;
    for (const RecordStage* stage : stages) {
      const auto some = stage->chunks();
      all.insert(all.end(), some.begin(), some.end());
    }
    for (const auto& chunk : all) ++first[chunk.partition + 1];
    for (std::size_t p = 0; p < partitions; ++p) first[p + 1] += first[p];
    chunks.resize(all.size());
    std::vector<std::size_t> next = first;
    for (const auto& chunk : all) chunks[next[chunk.partition]++] = chunk;
  }
  bool is_empty(std::size_t partition) const {
    return first[partition] == first[partition + 1] &&
           std::all_of(stages.begin(), stages.end(),
                       [&](const RecordStage* s) { return s->row(partition).bytes.empty(); });
  }
  void insert(std::size_t partition, SectionWriter& section) const {
    for (std::size_t c = first[partition]; c < first[partition + 1]; ++c) {
      const RecordForm form = stages.front()->form();
      insert_records(section, {.bytes = {chunks[c].rows, chunks[c].rows_used * row_bytes(form)}, .form = form});
    }
    for (const RecordStage* stage : stages) insert_records(section, stage->row(partition));
  }
};

SectionRounds::SectionRounds(const FilterDraft& draft, PagedFile& file, const Partitions& partitions, unsigned threads)
    : draft_(draft), file_(file), partitions_(partitions), threads_(threads), written_(partitions.size()) {
  for (const auto& section : draft.sections()) {
    facts_.emplace_back(section.type == SectionType::hosts ? 0 : leaf_count(section.geometry.bytes()));
  }
}

Result<void> SectionRounds::apply_one(std::size_t p, const Work& work, std::span<std::byte> buffer) {
  const Partitions::Partition& part = partitions_[p];
  const auto& section = draft_.sections()[part.section];
  const bool is_empty = work.is_empty(p);
  if (is_empty && !work.last) return {};
  const std::span<std::byte> pages = buffer.first(part.pages * kPageBytes);
  const std::uint64_t offset = section.offset + part.first_page * kPageBytes;
  if (written_[p] == 0) {
    std::memset(pages.data(), 0, pages.size());
  } else if (auto ok = file_.read(offset, pages); !ok) {
    return ok;
  }
  SectionWriter writer({.layout = section.geometry.layout, .pages = part.pages}, pages.data(), section.kind());
  work.insert(p, writer);
  if (work.last) {
    const std::uint64_t first_leaf = part.first_page / kLeafPages;
    for (std::uint64_t leaf = 0; leaf * kLeafBytes < pages.size(); ++leaf) {
      const std::uint64_t at = leaf * kLeafBytes;
      facts_[part.section][first_leaf + leaf] =
          draft_.facts_of(section, pages.subspan(at, std::min<std::uint64_t>(kLeafBytes, pages.size() - at)));
    }
  }
  if (is_empty) return {};
  written_[p] = 1;
  return file_.write(offset, pages);
}

Result<void> SectionRounds::apply(const std::vector<RecordStage*>& stages, bool last, const std::function<bool()>& stop,
                                  const std::function<void()>& meanwhile) {
  ++rounds_;
  done_ = 0;
  while (buffers_.size() < threads_) {
    auto buffer = AnonymousMemory::make(partitions_.buffer_bytes());
    if (!buffer) return unexpected(std::move(buffer).error());
    buffers_.push_back(*std::move(buffer));
  }
  const Work work(stages, last, partitions_.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> error;
  const auto run = [&](unsigned thread) {
    for (std::size_t p = next++; p < partitions_.size(); p = next++) {
      auto ok = stop() ? Result<void>(unexpected(Error{Errc::io, {}, "interrupted"}))
                       : apply_one(p, work, buffers_[thread].bytes());
      ++done_;
      if (thread == 0 && meanwhile) meanwhile();
      if (ok) continue;
      const std::lock_guard lock(mutex);
      if (!error) error = std::move(ok).error();
      next.store(partitions_.size());
    }
  };
  {
    std::vector<std::jthread> helpers;
    unsigned begun = 1;
    while (begun < threads_ && add_thread(helpers, [&run, begun] { run(begun); })) ++begun;
    if (meanwhile) meanwhile();
    run(0);
  }
  for (RecordStage* stage : stages) stage->reset();
  if (error) return unexpected(*std::move(error));
  return {};
}

}  // namespace bloomwall::filter
