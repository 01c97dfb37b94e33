// One thread hands out blocks of lines, several parse them. Blocks are reused: memory is two blocks a thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "filter/lists/line_blocks.h"
#include "filter/result.h"

namespace bloomwall::filter {

// Fills a block; false at the end. Called by the calling thread alone.
using NextBlock = std::function<Result<bool>(LineBlock& block)>;
// Called with 0 <= worker < workers, for one worker by one thread at a time. Must not throw.
using ParseBlock = std::function<void(unsigned worker, const LineBlock& block)>;

// Returns when every block that `next` gave is parsed; an error of `next` ends it and is handed on. With one worker
// everything happens on the calling thread, in order.
Result<void> run_blocks(const NextBlock& next, unsigned workers, const ParseBlock& parse);

}  // namespace bloomwall::filter
