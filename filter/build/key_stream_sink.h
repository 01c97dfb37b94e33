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

#include "filter/build/key_stream.h"
#include "filter/build/record_stage.h"
#include "filter/build/round_gate.h"
#include "filter/build/section_rounds.h"
#include "filter/build/sketching_sink.h"
#include "filter/build/stream_memory.h"

namespace bloomwall::filter {

struct KeyStream::State {
  State(const KeyMaker& the_keys, FilterDraft& the_draft, const std::atomic<bool>* the_stop, const StreamMemory& memory,
        AnonymousMemory hosts, AnonymousMemory records, PagedFile the_file);
  // A section that records go to.
  struct Target {
    Geometry geometry;
    std::size_t first_partition = 0;
  };
  void fail(Error error);
  void apply(bool last);  // while no sink is in use
  // What this thread is to do while it waits; empty for all but one.
  const std::function<void()>& meanwhile() const;
  bool is_stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }

  KeyMaker keys;
  FilterDraft& draft;
  const std::atomic<bool>* stop;
  AnonymousMemory host_memory;
  PagedFile file;
  ChunkPool pool;
  Partitions partitions;
  SectionRounds rounds;
  std::optional<SectionWriter> hosts_section;
  std::optional<Target> paths, raw;
  RoundGate gate;
  std::vector<std::unique_ptr<Sink>> sinks;  // by worker
  std::atomic<unsigned> round_count = 0;
  std::atomic<bool> in_round = false;
  std::function<void()> own_meanwhile;  // of the thread `owner`
  std::thread::id owner;

  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::optional<Error> first_error;
};

class KeyStream::Sink final : public SketchingSink {
 public:
  explicit Sink(State& shared);
  void flush() override;  // hosts into H; records stay where the next round finds them
  RecordStage& stage() { return stage_; }

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
