// The KeyStore of streamed builds: writes keys into a file whose sizes are known in advance, and keeps nothing of an
// entry but bits. For builds that do not fit in RAM, and for all whose geometry is given (shards).
//   H       in RAM; bits are set by atomic OR as entries come, and written at the end
//   P, R    records of six bytes in the rest of the memory. When little of it is free, helper threads apply them to the
//           temporary file, one partition after the other, while other threads read on (section_rounds.h)
//   counts  estimated (key_sketch.h)
// Memory: bounded by the budget for any input. Temporary disk: only the file itself.
// The bytes of the file depend only on the entries, not on threads, rounds or memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "filter/builder/key_sketch.h"
#include "filter/builder/key_store.h"
#include "filter/file/filter_writer.h"

namespace bloomwall::filter {

class KeyStream final : public KeyStore {
 public:
  struct Options {
    std::uint64_t ram_bytes = 0;
    unsigned threads = 1;  // the greatest number of workers
    const std::atomic<bool>* stop = nullptr;
    // Called with what has come so far at the least, as estimated: by each worker once it has taken a sixteenth more,
    // so seldom that it costs nothing. Its error ends the stream. Thread-safe; empty: not called.
    std::function<Result<void>(const KeySummary& so_far)> check_counts = {};
  };
  // Borrows the draft, which must have its sections laid out. Error `limit` where the budget is too small for H and the
  // least buffers.
  static Result<std::unique_ptr<KeyStream>> create(const KeyMaker& keys, FilterDraft& draft, const Options& options);
  ~KeyStream() override;

  KeySink& sink(unsigned worker) override;
  void end_worker() override;
  // Errors: io of a round, "interrupted", and `usage` for an entry of a kind for which the file has no section.
  Result<void> check() override;

  // Called several times a second while the calling thread, which is one of the workers, waits for memory or works on a
  // round. May call figures().
  void set_idle_callback(std::function<void()> on_idle);

  // After the last entry: the last round, and H. The caller goes on with draft.commit(facts()).
  Result<void> finish();
  const std::vector<FilterDraft::SectionFacts>& facts() const;
  EntrySketches sketches() const;  // of all sinks, while none is in use

  // What check_counts was called with last, and how often it was called. Thread-safe.
  struct Counted {
    unsigned times = 0;
    KeySummary so_far;
  };
  Counted counted() const;

  struct Figures {
    std::uint64_t records = 0;  // that fit in memory
    unsigned rounds = 0;        // completed
    bool in_round = false;      // a round is running; its progress:
    std::uint64_t parts_done = 0, parts = 0;
    std::uint64_t bytes_read = 0, bytes_written = 0;  // of the temporary file
  };
  Figures figures() const;  // thread-safe

 private:
  struct State;
  class Sink;
  explicit KeyStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace bloomwall::filter
