// Who wants to see the keys of every entry while they pass, beside the store that takes them: known-good lists
// (known_good.h) and the exact side (exact_writer.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filter/keys/entry_keys.h"
#include "filter/result.h"

namespace bloomwall::filter {

class KeyObserver {
 public:
  virtual ~KeyObserver() = default;
  // Before any of the others, and not meanwhile: so many workers there will be at most.
  virtual void expect_workers(unsigned workers) = 0;
  // By one thread for one worker at a time.
  virtual void seen(unsigned worker, const EntryKeys& keys) = 0;
  // What went wrong so far. Thread-safe.
  virtual Result<void> check() const = 0;
};

}  // namespace bloomwall::filter
