// Several threads take blocks of lines from one source and parse them. A thread reuses its block: memory is one block a thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "filter/builder/block_source.h"
#include "filter/lists/line_blocks.h"
#include "filter/result.h"

namespace bloomwall::filter {

// What a worker does; 0 <= worker < workers, for one worker by one thread. Worker 0 is the calling thread; others may be
// missing where the system gives no more threads.
// Nothing here may throw. `before` and `end` may be empty.
struct BlockWork {
  std::function<void(unsigned worker, const LineBlock& block)> parse = {};
  std::function<Result<void>(unsigned worker)> before = {};  // each block; an error ends the run
  std::function<void(unsigned worker)> end = {};             // once, on the worker's thread, if it has one
};

// Returns when every block that the source gave is parsed. The first error, of the source or of `before`, ends the run after
// the blocks that are being parsed, and is handed on. With one worker everything happens on the calling thread, in order.
Result<void> run_blocks(BlockSource& source, unsigned workers, const BlockWork& work);

}  // namespace bloomwall::filter
