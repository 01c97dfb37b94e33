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

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace bloomwall::filter {
namespace {

// Work begins when at most an eighth of the chunks is free: the more records have gathered, the less often each
// partition is read and written, and threads that fill chunks should not have to wait.
constexpr std::size_t kLowShare = 8;

}  // namespace

ChunkPool::ChunkPool(AnonymousMemory memory, std::size_t rows_per_chunk, RecordForm form, std::size_t partitions)
    : memory_(std::move(memory)),
      rows_(rows_per_chunk),
      form_(form),
      chunks_(memory_.bytes().size() / chunk_bytes()),
      full_(partitions),
      is_taken_(partitions) {}

bool ChunkPool::is_work_due() const { return due_ > 0 && free_now() <= chunks_ / kLowShare; }

std::byte* ChunkPool::take() {
  const std::lock_guard lock(mutex_);
  std::byte* chunk = nullptr;
  if (!free_.empty()) {
    chunk = free_.back();
    free_.pop_back();
  } else if (used_ < chunks_) {
    chunk = memory_.bytes().data() + used_++ * chunk_bytes();
  }
  if (is_work_due()) work_.notify_one();
  return chunk;
}

void ChunkPool::put(std::size_t partition, std::byte* full) {
  const std::lock_guard lock(mutex_);
  full_[partition].push_back(full);
  if (!is_taken_[partition]) ++due_;
  if (is_work_due()) work_.notify_one();
}

ChunkPool::Batch ChunkPool::take_all(std::size_t partition) {
  due_ -= full_[partition].size();
  is_taken_[partition] = true;
  return {.partition = partition, .chunks = std::exchange(full_[partition], {})};
}

std::optional<ChunkPool::Batch> ChunkPool::next() {
  const std::lock_guard lock(mutex_);
  if (due_ == 0) return std::nullopt;
  while (is_taken_[turn_] || full_[turn_].empty()) turn_ = (turn_ + 1) % full_.size();
  const std::size_t partition = turn_;
  turn_ = (turn_ + 1) % full_.size();
  return take_all(partition);
}

ChunkPool::Batch ChunkPool::all_of(std::size_t partition) {
  const std::lock_guard lock(mutex_);
  return take_all(partition);
}

void ChunkPool::give_back(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), batch.chunks.begin(), batch.chunks.end());
  is_taken_[batch.partition] = false;
  due_ += full_[batch.partition].size();
  room_.notify_all();
  if (is_work_due()) work_.notify_one();
}

void ChunkPool::wait_for_room(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  room_.wait_for(lock, longest, [this] { return free_now() > 0; });
}

bool ChunkPool::wait_for_work() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [this] { return is_closed_ || is_work_due(); });
  return !is_closed_;
}

void ChunkPool::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  work_.notify_all();
}

namespace {

// Written past the cache where the processor can, because the chunk is read again much later.
void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  for (std::size_t at = 0; at < bytes; at += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_load_si128(reinterpret_cast<const __m128i*>(from + at)));
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace

PartitionBuffers::PartitionBuffers(ChunkPool& pool, std::size_t partitions)
    : pool_(pool),
      form_(pool.form()),
      rows_(partitions * row_bytes(form_) / sizeof(Line)),
      counts_(partitions),
      cursors_(partitions) {}

bool PartitionBuffers::hand_over(std::size_t partition) {
  Cursor& cursor = cursors_[partition];
  if (cursor.chunk == nullptr) cursor = {.chunk = pool_.take(), .bytes = 0};
  if (cursor.chunk == nullptr) return false;
  copy_row(cursor.chunk + cursor.bytes, row_at(partition), row_bytes(form_));
  cursor.bytes += row_bytes(form_);
  counts_[partition] = 0;
  if (cursor.bytes < pool_.chunk_bytes()) return true;
  publish();
  pool_.put(partition, cursor.chunk);
  cursor = {};
  return true;
}

void PartitionBuffers::publish() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

std::array<RecordRun, 2> PartitionBuffers::left(std::size_t partition) const {
  const Cursor& cursor = cursors_[partition];
  const std::byte* const row = rows() + partition * row_bytes(form_);
  return {{{.bytes = {cursor.chunk, cursor.bytes}, .form = form_},
           {.bytes = {row, counts_[partition] * record_bytes(form_)}, .form = form_}}};
}

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
