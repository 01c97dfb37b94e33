// Where entries go while lists are read: the door behind which the strategies of a build stand, with keys that are all held
// (KeyCollector) or that stream through into a file whose sizes are known (KeyStream).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "filter/builder/key_summary.h"
#include "filter/result.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// Takes entries on one thread.
class KeySink {
 public:
  virtual ~KeySink() = default;
  virtual void add(const Entry& entry) = 0;
  virtual void flush() = 0;  // what was added counts for the store; on the thread that reads the lists
};

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  // The same one for the same worker, for all lists. Not thread-safe; references stay valid.
  virtual KeySink& sink(unsigned worker) = 0;
  // Called by a worker's thread at the end of a list: what it added may be read by others now. Thread-safe.
  virtual void end_worker() {}
  // Whether reading may go on; asked by workers before every block, and between lists.
  virtual Result<void> check() = 0;
  // Distinct entries so far, while no sink is in use; nothing where that is not known.
  virtual std::optional<DistinctByKind> distinct_so_far() const { return std::nullopt; }
};

}  // namespace bloomwall::filter
