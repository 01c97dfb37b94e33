// The keys of all entries, streamed into a file whose sizes are known beforehand: nothing is kept of an entry but bits. The
// strategy for what does not fit in RAM, and for everything whose geometry is given (shards).
//   H       in RAM, bits set by atomic OR as entries come; written at the end
//   P, R    records of six bytes in the memory that is left (records.h, records.h); when little of it is free, threads
//           apply them to the temporary file, partition after partition, while others go on reading (section_rounds.h)
//   counts  estimated (key_sketch.h)
// Memory: what the budget says, whatever the input. Temporary disk: none but the file itself.
// The bytes of the file depend on the entries alone: not on threads, rounds or memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "filter/builder/key_sketch.h"
#include "filter/builder/key_store.h"
#include "filter/file/filter_draft.h"

namespace bloomwall::filter {

class KeyStream final : public KeyStore {
 public:
  struct Options {
    std::uint64_t ram_bytes = 0;
    unsigned threads = 1;  // as many workers as may ask for a sink
    const std::atomic<bool>* stop = nullptr;
  };
  // Borrows the draft, which must have its sections laid out. Error `limit` where the budget is too small for H and the
  // least buffers.
  static Result<std::unique_ptr<KeyStream>> create(const KeyMaker& keys, FilterDraft& draft, const Options& options);
  ~KeyStream() override;

  KeySink& sink(unsigned worker) override;
  void end_worker() override;
  // Errors: io of a round, "interrupted", and `usage` for an entry of a kind for which the file has no section.
  Result<void> check() override;

  // Called from now on by this thread alone while it waits for memory or works on a round, several times a second. It is one
  // of the workers; what it calls may ask for figures().
  void call_meanwhile(std::function<void()> meanwhile);

  // After the last entry: the last round, and H. What remains is draft.commit(facts()).
  Result<void> finish();
  const std::vector<FilterDraft::SectionFacts>& facts() const;
  EntrySketches sketches() const;  // of all sinks, while none is in use

  struct Figures {
    std::uint64_t records = 0;  // that fit in memory
    unsigned rounds = 0;        // that are done
    bool in_round = false;      // and how much of that one is
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
