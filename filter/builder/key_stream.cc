// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "filter/builder/key_stream_sink.h"
#include "filter/parallel.h"

namespace bloomwall::filter {

Result<std::unique_ptr<KeyStream>> KeyStream::create(const KeyMaker& keys, FilterDraft& draft, const Options& options) {
  const unsigned threads = std::max(1U, options.threads);
  auto memory = deal_out(draft, options.ram_bytes, threads);
  if (!memory) return unexpected(std::move(memory).error());
  auto hosts = AnonymousMemory::make(memory->host_bytes);
  if (!hosts) return unexpected(std::move(hosts).error());
  auto pool = AnonymousMemory::make(memory->pool_bytes);
  if (!pool) return unexpected(std::move(pool).error());
  auto file = PagedFile::open(draft.descriptor(), draft.path());
  if (!file) return unexpected(std::move(file).error());
  auto state = std::make_unique<State>(keys, draft, options.stop, *memory, *std::move(hosts), *std::move(pool),
                                       *std::move(file));
  return std::unique_ptr<KeyStream>(new KeyStream(std::move(state)));
}

KeyStream::KeyStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
KeyStream::~KeyStream() = default;

KeyStream::State::State(const KeyMaker& the_keys, FilterDraft& the_draft, const std::atomic<bool>* the_stop,
                        const StreamMemory& memory, AnonymousMemory hosts, AnonymousMemory records, PagedFile the_file)
    : keys(the_keys),
      draft(the_draft),
      stop(the_stop),
      host_memory(std::move(hosts)),
      file(std::move(the_file)),
      partitions(draft, memory.page_bits),
      pool(std::move(records), memory.rows_per_chunk, memory.form, partitions.size()),
      apply_threads(memory.apply_threads),
      rounds(draft, file, partitions, pool, apply_threads) {
  for (std::size_t s = 0; s < draft.sections().size(); ++s) {
    const auto& section = draft.sections()[s];
    if (section.type == SectionType::hosts) {
      hosts_section.emplace(section.geometry, host_memory.bytes().data(), section.kind());
    } else {
      (section.type == SectionType::paths ? paths : raw) =
          Target{.geometry = section.geometry, .first_partition = partitions.first_of(s)};
    }
  }
}

void KeyStream::State::fail(Error error) {
  const std::lock_guard lock(mutex);
  if (!first_error) first_error = std::move(error);
  failed.store(true, std::memory_order_relaxed);
}

void KeyStream::State::make_room(RecordStage& stage, std::size_t partition) {
  constexpr std::chrono::milliseconds kPause{100};
  const bool helped = begin_helpers();
  while (!stage.hand_over(partition)) {
    if (is_stopped() || failed.load(std::memory_order_relaxed)) return stage.drop_row(partition);
    const Result<bool> applied = helped ? Result<bool>(false) : rounds.apply_next();
    if (!applied) {
      fail(applied.error());
    } else if (!*applied) {
      pool.wait_for_room(kPause);
    }
    if (const auto& others = meanwhile()) others();
  }
}

bool KeyStream::State::begin_helpers() {
  const std::lock_guard lock(mutex);
  if (!std::exchange(are_helpers_begun, true)) {
    while (helpers.size() < apply_threads && add_thread(helpers, [this] { help(); })) {
    }
  }
  return !helpers.empty();
}

void KeyStream::State::help() {
  while (pool.wait_for_work()) {
    const auto applied = rounds.apply_next();
    if (!applied) return fail(applied.error());
    if (is_stopped()) return;
  }
}

void KeyStream::State::end_helpers() {
  pool.close();
  helpers.clear();
}

const std::function<void()>& KeyStream::State::meanwhile() const {
  static const std::function<void()> kNothing;
  return std::this_thread::get_id() == owner ? own_meanwhile : kNothing;
}

void KeyStream::call_meanwhile(std::function<void()> meanwhile) {
  state_->own_meanwhile = std::move(meanwhile);
  state_->owner = std::this_thread::get_id();
}

KeySink& KeyStream::sink(unsigned worker) {
  auto& sinks = state_->sinks;
  while (sinks.size() <= worker) sinks.push_back(std::make_unique<Sink>(*state_));
  return *sinks[worker];
}

void KeyStream::end_worker() { RecordStage::publish(); }

Result<void> KeyStream::check() {
  State& s = *state_;
  if (s.is_stopped()) return unexpected(Error{Errc::io, {}, "interrupted"});
  if (!s.failed.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(s.mutex);
  return unexpected(*s.first_error);
}

Result<void> KeyStream::finish() {
  State& s = *state_;
  for (const auto& sink : s.sinks) sink->flush();
  s.end_helpers();
  if (auto ok = check(); !ok) return ok;
  std::vector<const RecordStage*> stages;
  for (const auto& sink : s.sinks) stages.push_back(&sink->stage());
  if (auto ok = s.rounds.apply_last(stages, [&s] { return s.is_stopped(); }, s.meanwhile()); !ok) return ok;
  for (std::size_t i = 0; i < s.draft.sections().size(); ++i) {
    const auto& section = s.draft.sections()[i];
    if (section.type != SectionType::hosts) continue;
    s.rounds.facts()[i] = s.draft.facts_of_all(section, s.host_memory.bytes());
    if (auto ok = s.file.write(section.offset, s.host_memory.bytes()); !ok) return ok;
  }
  return {};
}

const std::vector<FilterDraft::SectionFacts>& KeyStream::facts() const { return state_->rounds.facts(); }

EntrySketches KeyStream::sketches() const {
  EntrySketches out;
  for (const auto& sink : state_->sinks) out.merge(sink->sketches());
  return out;
}

KeyStream::Figures KeyStream::figures() const {
  const State& s = *state_;
  const SectionRounds::Figures rounds = s.rounds.figures();
  return {.records = s.pool.chunks() * s.pool.rows_per_chunk() * kRowRecords,
          .rounds = rounds.rounds,
          .in_round = rounds.in_round,
          .parts_done = rounds.partitions_done,
          .parts = s.partitions.size(),
          .bytes_read = s.file.bytes_read(),
          .bytes_written = s.file.bytes_written()};
}

}  // namespace bloomwall::filter
