// A pool of HTTP/1 message readers whose buffers have grown already, so that idle connections hold none. The memory of
// a lent reader is accounted to the buffer pool. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "proxy/http/body_reader.h"
#include "proxy/io/chain.h"

namespace bloomwall::proxy {

template <typename Reader>
struct LentReader {
  LentReader(const HeadLimits& limits, BufferPool& pool) : reader(limits), memory(pool, BufferKind::heads) {}
  bool count() { return memory.set(reader.memory()); }  // false: limits.buffer_memory
  Reader reader;
  Reservation memory;
};

template <typename Reader>
class WarmReaders {
 public:
  static constexpr std::size_t kMostSpare = 256;
  static constexpr std::size_t kMostKept =
      std::size_t{16} * 1024;  // bytes: what a large head has left behind is let go of

  using Lent = LentReader<Reader>;
  using Ptr = std::unique_ptr<Lent>;

  WarmReaders(const HeadLimits& limits, BufferPool& pool) : limits_(limits), pool_(pool) {}

  Ptr take() {
    if (spare_.empty()) return std::make_unique<Lent>(limits_, pool_);
    Ptr lent = std::move(spare_.back());
    spare_.pop_back();
    return lent;
  }
  // What views into it pointed to is gone.
  void give(Ptr lent) {
    if (lent == nullptr || spare_.size() == kMostSpare || lent->reader.memory() > kMostKept) return;
    if (!make_fresh(lent->reader)) return;
    lent->memory.set(0);
    spare_.push_back(std::move(lent));
  }

 private:
  // Of a RequestReader: a request that was not read to its end leaves its rest where the next one would begin.
  // ResponseReader::start() forgets what was before.
  static bool make_fresh(Reader& reader) {
    if constexpr (requires { reader.next(); }) {
      if (!reader.at_end()) return false;
      reader.next();
    }
    return true;
  }

  const HeadLimits& limits_;
  BufferPool& pool_;
  std::vector<Ptr> spare_;
};

}  // namespace bloomwall::proxy
