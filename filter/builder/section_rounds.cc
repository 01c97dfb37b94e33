// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/section_rounds.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "filter/parallel.h"

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

SectionRounds::SectionRounds(const FilterDraft& draft, PagedFile& file, const Partitions& partitions, ChunkPool& pool,
                             unsigned threads)
    : draft_(draft), file_(file), partitions_(partitions), pool_(pool), threads_(threads), written_(partitions.size()) {
  for (const auto& section : draft.sections()) {
    facts_.emplace_back(section.type == SectionType::hosts ? 0 : leaf_count(section.geometry.bytes()));
  }
}

Result<SectionRounds::Buffer> SectionRounds::borrow_buffer() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty() && buffers_.size() < threads_) {
    auto made = AnonymousMemory::make(partitions_.buffer_bytes());
    if (!made) return unexpected(std::move(made).error());
    buffers_.push_back(std::make_unique<AnonymousMemory>(*std::move(made)));
    spare_.push_back(buffers_.back().get());
  }
  if (spare_.empty()) return Buffer();
  Buffer buffer(spare_.back(), GiveBack{this});
  spare_.pop_back();
  return buffer;
}

void SectionRounds::give_back(AnonymousMemory* buffer) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(buffer);
}

Result<void> SectionRounds::apply(const ChunkPool::Batch& batch, std::span<std::byte> buffer,
                                  const std::vector<const PartitionBuffers*>* last_buffers) {
  const std::size_t p = batch.partition;
  const Partitions::Partition& part = partitions_[p];
  const auto& section = draft_.sections()[part.section];
  const std::span<std::byte> pages = buffer.first(part.pages * kPageBytes);
  const std::uint64_t offset = section.offset + part.first_page * kPageBytes;
  if (written_[p] == 0) {
    std::memset(pages.data(), 0, pages.size());
  } else if (auto ok = file_.read(offset, pages); !ok) {
    return ok;
  }
  SectionWriter writer({.layout = section.geometry.layout, .pages = part.pages}, pages.data(), section.kind());
  bool is_empty = true;
  const auto insert = [&](const RecordRun& run) {
    is_empty = is_empty && run.bytes.empty();
    insert_records(writer, run);
  };
  for (const std::byte* chunk : batch.chunks) insert({.bytes = {chunk, pool_.chunk_bytes()}, .form = pool_.form()});
  if (last_buffers != nullptr) {
    for (const PartitionBuffers* buffers : *last_buffers) {
      for (const RecordRun& run : buffers->left(p)) insert(run);
    }
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

Result<void> SectionRounds::visit(const ChunkPool::Batch& batch, AnonymousMemory& buffer,
                                  const std::vector<const PartitionBuffers*>* last_buffers) {
  ++busy_;
  auto ok = apply(batch, buffer.bytes(), last_buffers);
  pool_.give_back(batch);
  ++(last_buffers == nullptr ? visits_ : last_visits_);
  --busy_;
  return ok;
}

Result<bool> SectionRounds::apply_next() {
  auto buffer = borrow_buffer();
  if (!buffer) return unexpected(std::move(buffer).error());
  if (*buffer == nullptr) return false;
  const auto batch = pool_.next();
  if (!batch) return false;
  if (auto ok = visit(*batch, **buffer); !ok) return unexpected(std::move(ok).error());
  return true;
}

Result<void> SectionRounds::apply_last(const std::vector<const PartitionBuffers*>& all_buffers,
                                       const std::function<bool()>& stop, const std::function<void()>& on_idle) {
  is_last_ = true;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> error;
  const auto visit_last = [&](std::size_t p, AnonymousMemory& buffer) -> Result<void> {
    if (stop()) return unexpected(Error{Errc::io, {}, "interrupted"});
    return visit(pool_.all_of(p), buffer, &all_buffers);
  };
  const auto run = [&](bool is_caller) {
    const auto fail = [&](Error what) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::move(what);
      next.store(partitions_.size());
    };
    auto buffer = borrow_buffer();
    if (!buffer) return fail(std::move(buffer).error());
    for (std::size_t p = next++; p < partitions_.size(); p = next++) {
      if (auto ok = visit_last(p, **buffer); !ok) fail(std::move(ok).error());
      if (is_caller && on_idle) on_idle();
    }
  };
  {
    std::vector<std::jthread> helpers;
    unsigned begun = 1;
    while (begun < threads_ && add_thread(helpers, [&run] { run(false); })) ++begun;
    if (on_idle) on_idle();
    run(true);
  }
  if (error) return unexpected(*std::move(error));
  is_done_ = true;
  return {};
}

SectionRounds::Figures SectionRounds::figures() const {
  const std::uint64_t parts = std::max<std::size_t>(1, partitions_.size());
  const std::uint64_t visits = visits_.load();
  const auto before = static_cast<unsigned>((visits + parts - 1) / parts);  // one that the last one completes counts
  if (is_done_.load()) return {.rounds = before + 1, .in_round = false, .partitions_done = partitions_.size()};
  if (is_last_.load()) return {.rounds = before, .in_round = true, .partitions_done = last_visits_.load()};
  return {
      .rounds = static_cast<unsigned>(visits / parts), .in_round = busy_.load() > 0, .partitions_done = visits % parts};
}

}  // namespace bloomwall::filter
