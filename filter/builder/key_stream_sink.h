// Inside KeyStream: what all its sinks share, and one thread's sink.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "filter/builder/chunk_pool.h"
#include "filter/builder/key_stream.h"
#include "filter/builder/record_stage.h"
#include "filter/builder/section_rounds.h"
#include "filter/builder/sketching_sink.h"
#include "filter/builder/stream_memory.h"

namespace bloomwall::filter {

struct KeyStream::State {
  State(const KeyMaker& the_keys, FilterDraft& the_draft, const std::atomic<bool>* the_stop, const StreamMemory& memory,
        AnonymousMemory hosts, AnonymousMemory records, PagedFile the_file);
  ~State() { end_helpers(); }
  // A section that records go to.
  struct Target {
    Geometry geometry;
    std::size_t first_partition = 0;
  };
  void fail(Error error);
  // Hands a full row over once there is a chunk for it, or gives it up where the build has failed. Where the system gives no
  // threads that help, whoever waits here does their work.
  void make_room(RecordStage& stage, std::size_t partition);
  bool begin_helpers();  // false: there are none
  void end_helpers();
  void help();
  // What this thread is to do while it waits; empty for all but one.
  const std::function<void()>& meanwhile() const;
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
  std::vector<std::unique_ptr<Sink>> sinks;  // by worker
  std::function<void()> own_meanwhile;       // of the thread `owner`
  std::thread::id owner;

  std::atomic<bool> failed = false;
  std::mutex mutex;  // of the error and the beginning of helpers
  std::optional<Error> first_error;
  bool are_helpers_begun = false;
  std::vector<std::jthread> helpers;  // apply what is gathered while few chunks are free
};

class KeyStream::Sink final : public SketchingSink {
 public:
  explicit Sink(State& shared);
  void flush() override;  // hosts into H; records stay where the last round finds them
  const RecordStage& stage() const { return stage_; }

 private:
  void take_host(const Hash128& host, Variant variant) override;
  void take_key(Kind kind, const Hash128& key) override;
  void set_host_bits();

  State& shared_;
  RecordStage stage_;
  // Waiting until their cache lines have come.
  struct HostBits {
    Place place;
    Variant variant = 0;
  };
  std::array<HostBits, 32> waiting_;
  std::size_t waiting_count_ = 0;
};

}  // namespace bloomwall::filter
