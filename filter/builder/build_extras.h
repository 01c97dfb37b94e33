// What a build makes of its entries beside the sections' bits, where it is asked for: exceptions for known-good URLs
// (known_good.h) and the exact side (exact_writer.h). Neither depends on how the keys get into the file.
//   create -> observers() see every entry -> all pages written -> add_exceptions -> commit_exact_side -> commit of the draft
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filter/builder/exact_writer.h"
#include "filter/builder/known_good.h"
#include "filter/file/filter_draft.h"

namespace bloomwall::filter {

// Hands entries on as keys. Borrows the observers.
class KeyObservers {
 public:
  KeyObservers(const KeyMaker& keys, std::vector<KeyObserver*> all) : keys_(keys), all_(std::move(all)) {}
  void expect_workers(unsigned workers) const {
    for (KeyObserver* observer : all_) observer->expect_workers(workers);
  }
  // By one thread for one worker at a time.
  void seen(unsigned worker, const Entry& entry) const {
    const Hash128 host = entry.kind == Kind::raw ? Hash128{} : keys_.host(entry.host);
    const EntryKeys keys = keys_of(keys_, entry, host);
    for (KeyObserver* observer : all_) observer->seen(worker, keys);
  }
  // What went wrong so far: a full disk, say, ends a build at once. Thread-safe.
  Result<void> check() const {
    Result<void> ok;
    for (std::size_t i = 0; ok && i < all_.size(); ++i) ok = all_[i]->check();
    return ok;
  }

 private:
  KeyMaker keys_;
  std::vector<KeyObserver*> all_;
};

class BuildExtras {
 public:
  struct Options {
    std::vector<std::string> known_good;  // lists
    bool exact_side = false;
    bool raw = false;
    FileAccess access = {};  // of the exact side
  };
  // Reads the known-good lists. `ram_bytes`: of the exact side.
  static Result<BuildExtras> create(const Options& options, const KeyMaker& keys, const std::filesystem::path& output,
                                    std::uint64_t ram_bytes);

  const KeyObservers* observers() const { return observers_ ? &*observers_ : nullptr; }
  // Once every bit is in the draft's file. Reads pages in order, as many as there are keys of known-good URLs at most.
  Result<void> add_exceptions(FilterDraft& draft);
  // Written and synced; its root goes into the draft's header. It takes its place right before the draft does, under
  // one lock: who is killed in between leaves a pair that is refused, so there must be nothing in between. To outlive the draft's commit().
  Result<void> write_exact_side(FilterDraft& draft);

  // Lines for the report: what was known to be good, what came of it, how large the exact side is.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::unique_ptr<KnownGood> known_good_;
  std::unique_ptr<ExactWriter> exact_;
  std::optional<KeyObservers> observers_;
  std::vector<std::string> notes_;
};

}  // namespace bloomwall::filter
