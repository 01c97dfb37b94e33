// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/key_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"
#include "filter/builder/key_sketch.h"
#include "filter/builder/section_rounds.h"
#include "filter/file/filter_writer.h"
#include "filter/parallel.h"

namespace bloomwall::filter {
namespace {

// How a streamed build divides its memory: H, the rows of every thread, a buffer of one partition for every thread that
// applies, sketches and caches. The rest holds records.
struct StreamMemory {
  unsigned page_bits = 0;      // of a partition
  unsigned apply_threads = 1;  // more than there are processors, so that some compute while others wait for the disk
  std::uint64_t host_bytes = 0;
  std::uint64_t pool_bytes = 0;
  std::size_t rows_per_chunk = 1;
  RecordForm form = RecordForm::paths;
};

// Of one thread besides its rows: sketches, cache of hosts, blocks of text.
constexpr std::uint64_t kThreadBytes = std::uint64_t{2} << 20;
constexpr std::size_t kUsualPartitions = 4096;  // rows of so many still lie in a processor's cache
constexpr std::size_t kMostChunkRows = 341;     // 64 KiB
// Chunks for each row: with few, much of the memory would be in chunks that are not full yet.
constexpr std::uint64_t kChunksPerRow = 16;
constexpr std::uint64_t kLeastRowsPerRow = 2;  // one that is being filled, and one that can be applied

struct Division {
  StreamMemory memory;
  std::uint64_t least = 0;
};

Division divide(const FilterDraft& draft, std::uint64_t ram_bytes, unsigned threads, unsigned page_bits) {
  const Partitions partitions(draft, page_bits);
  Division out;
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
                              threads * (kThreadBytes + PartitionBuffers::bytes_for(partitions.size(), m.form)) +
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

// Error `limit`, naming the least budget, where this one does not suffice.
Result<StreamMemory> divide_memory(const FilterDraft& draft, std::uint64_t ram_bytes, unsigned threads) {
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned bits = Partitions::kLeastPageBits; bits <= kPartitionPageBits; ++bits) {
    const bool is_last = bits == kPartitionPageBits;
    if (!is_last && Partitions(draft, bits).size() > kUsualPartitions) continue;
    const Division division = divide(draft, ram_bytes, threads, bits);
    if (division.least <= ram_bytes) return division.memory;
    least = std::min(least, division.least);
  }
  return unexpected(
      Error{Errc::limit,
            {},
            fmt::format("a build of this size with {} threads takes {} of memory at the least, and may take "
                        "{}; free memory, raise --ram or lower --threads",
                        threads, format_bytes(least), format_bytes(ram_bytes))});
}

}  // namespace

// What all sinks share.
struct KeyStream::State {
  State(const KeyMaker& the_keys, FilterDraft& the_draft, const Options& options, const StreamMemory& memory,
        AnonymousMemory hosts, AnonymousMemory records, PagedFile the_file);
  ~State() { end_helpers(); }
  // A section that records go to.
  struct Target {
    Geometry geometry;
    std::size_t first_partition = 0;
  };
  void fail(Error error);
  void count(const EntrySketches& more);  // and checks
  // Hands a full row over as soon as a chunk is free, or drops it where the build has failed. Where the system gives no
  // threads for helpers, the thread that waits here does their work.
  void make_room(PartitionBuffers& records, std::size_t partition);
  bool begin_helpers();  // false: there are none
  void end_helpers();
  void help();
  // What this thread calls while it waits; empty for all threads but one.
  const std::function<void()>& on_idle() const;
  bool is_stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }

  KeyMaker keys;
  FilterDraft& draft;
  const std::atomic<bool>* stop;
  AnonymousMemory host_memory;
  PagedFile file;
  Partitions partitions;
  ChunkPool pool;
  unsigned apply_threads;
  SectionRounds rounds;
  std::optional<SectionWriter> hosts_section;
  std::optional<Target> paths, raw;
  std::function<Result<void>(const KeySummary&)> check_counts;
  std::vector<std::unique_ptr<Sink>> sinks;  // by worker
  std::function<void()> idle_callback;       // of the thread `owner`
  std::thread::id owner;

  std::atomic<bool> failed = false;
  std::mutex mutex;  // of the error and the start of helpers
  std::optional<Error> first_error;
  bool are_helpers_begun = false;
  std::mutex count_mutex;  // of the next three
  EntrySketches known;     // of all sinks, when they last counted
  KeySummary known_counts;
  unsigned times_counted = 0;
  std::vector<std::jthread> helpers;  // apply full chunks while few are free
};

class KeyStream::Sink final : public SketchingSink {
 public:
  explicit Sink(State& shared);
  void flush() override;  // hosts into H; the last round reads the records where they are
  const PartitionBuffers& records() const { return records_; }

 private:
  void take_host(const Hash128& host, Variant variant) override;
  void take_key(Kind kind, const Hash128& key) override;
  void set_host_bits();
  void count_now();

  State& shared_;
  std::uint64_t taken_ = 0, count_at_ = kFirstCount;  // hosts and keys; counted again at so many
  static constexpr std::uint64_t kFirstCount = 1U << 14;
  PartitionBuffers records_;
  // Waiting for their cache lines.
  struct HostBits {
    Place place;
    Variant variant = 0;
  };
  std::array<HostBits, 32> waiting_;
  std::size_t waiting_count_ = 0;
};

Result<std::unique_ptr<KeyStream>> KeyStream::create(const KeyMaker& keys, FilterDraft& draft, const Options& options) {
  const unsigned threads = std::max(1U, options.threads);
  auto memory = divide_memory(draft, options.ram_bytes, threads);
  if (!memory) return unexpected(std::move(memory).error());
  auto hosts = AnonymousMemory::make(memory->host_bytes);
  if (!hosts) return unexpected(std::move(hosts).error());
  auto pool = AnonymousMemory::make(memory->pool_bytes);
  if (!pool) return unexpected(std::move(pool).error());
  auto file = PagedFile::open(draft.descriptor(), draft.path());
  if (!file) return unexpected(std::move(file).error());
  auto state =
      std::make_unique<State>(keys, draft, options, *memory, *std::move(hosts), *std::move(pool), *std::move(file));
  return std::unique_ptr<KeyStream>(new KeyStream(std::move(state)));
}

KeyStream::KeyStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
KeyStream::~KeyStream() = default;

KeyStream::State::State(const KeyMaker& the_keys, FilterDraft& the_draft, const Options& options,
                        const StreamMemory& memory, AnonymousMemory hosts, AnonymousMemory records, PagedFile the_file)
    : keys(the_keys),
      draft(the_draft),
      stop(options.stop),
      host_memory(std::move(hosts)),
      file(std::move(the_file)),
      partitions(draft, memory.page_bits),
      pool(std::move(records), memory.rows_per_chunk, memory.form, partitions.size()),
      apply_threads(memory.apply_threads),
      rounds(draft, file, partitions, pool, apply_threads),
      check_counts(options.check_counts) {
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

void KeyStream::State::count(const EntrySketches& more) {
  KeySummary so_far;
  {
    const std::lock_guard lock(count_mutex);
    known.merge(more);
    so_far = known_counts = known.summary();
    ++times_counted;
  }
  if (auto ok = check_counts(so_far); !ok) fail(std::move(ok).error());
}

void KeyStream::State::make_room(PartitionBuffers& records, std::size_t partition) {
  constexpr std::chrono::milliseconds kPause{100};
  const bool helped = begin_helpers();
  while (!records.hand_over(partition)) {
    if (is_stopped() || failed.load(std::memory_order_relaxed)) return records.drop_row(partition);
    const Result<bool> applied = helped ? Result<bool>(false) : rounds.apply_next();
    if (!applied) {
      fail(applied.error());
    } else if (!*applied) {
      pool.wait_for_room(kPause);
    }
    if (const auto& others = on_idle()) others();
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

const std::function<void()>& KeyStream::State::on_idle() const {
  static const std::function<void()> kNothing;
  return std::this_thread::get_id() == owner ? idle_callback : kNothing;
}

void KeyStream::set_idle_callback(std::function<void()> on_idle) {
  state_->idle_callback = std::move(on_idle);
  state_->owner = std::this_thread::get_id();
}

KeySink& KeyStream::sink(unsigned worker) {
  auto& sinks = state_->sinks;
  while (sinks.size() <= worker) sinks.push_back(std::make_unique<Sink>(*state_));
  return *sinks[worker];
}

void KeyStream::end_worker() { PartitionBuffers::publish(); }

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
  std::vector<const PartitionBuffers*> all_buffers;
  for (const auto& sink : s.sinks) all_buffers.push_back(&sink->records());
  if (auto ok = s.rounds.apply_last(all_buffers, [&s] { return s.is_stopped(); }, s.on_idle()); !ok) return ok;
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

KeyStream::Counted KeyStream::counted() const {
  const std::lock_guard lock(state_->count_mutex);
  return {.times = state_->times_counted, .so_far = state_->known_counts};
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

namespace {

Error unannounced(std::string_view what) {
  return {Errc::usage, {}, fmt::format("there are {}, for which no room was planned (see --kinds)", what)};
}

}  // namespace

KeyStream::Sink::Sink(State& shared)
    : SketchingSink(shared.keys), shared_(shared), records_(shared.pool, shared.partitions.size()) {}

void KeyStream::Sink::take_host(const Hash128& host, Variant variant) {
  if (++taken_ >= count_at_) count_now();
  if (!shared_.hosts_section) return shared_.fail(unannounced("entries with a host"));
  const SectionView view = shared_.hosts_section->view();
  const Place place = view.place(host);
  view.prefetch_all(place);
  waiting_[waiting_count_++] = {.place = place, .variant = variant};
  if (waiting_count_ == waiting_.size()) set_host_bits();
}

void KeyStream::Sink::count_now() {
  count_at_ = taken_ + std::max(kFirstCount, taken_ / 16);
  if (shared_.check_counts) shared_.count(sketches());
}

void KeyStream::Sink::set_host_bits() {
  for (std::size_t i = 0; i < waiting_count_; ++i) {
    shared_.hosts_section->insert(waiting_[i].place, waiting_[i].variant);
  }
  waiting_count_ = 0;
}

void KeyStream::Sink::take_key(Kind kind, const Hash128& key) {
  if (++taken_ >= count_at_) count_now();
  const std::optional<State::Target>& target = kind == Kind::raw ? shared_.raw : shared_.paths;
  if (!target) {
    return shared_.fail(unannounced(fmt::format("entries of kind {}", static_cast<char>(kind))));
  }
  const Place place = place_of(target->geometry, kind == Kind::raw ? SectionKind::raw : SectionKind::paths, key);
  const unsigned bits = shared_.partitions.page_bits();
  const std::uint64_t in_partition = place.page & ((std::uint64_t{1} << bits) - 1);
  const std::size_t partition = target->first_partition + (place.page >> bits);
  if (records_.add(partition, {.page = in_partition, .fingerprint = place.fingerprint})) return;
  shared_.make_room(records_, partition);
}

void KeyStream::Sink::flush() {
  if (waiting_count_ > 0) set_host_bits();
}

}  // namespace bloomwall::filter
