// SPDX-License-Identifier: Apache-2.0
#include "filter/builder/block_pipeline.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "filter/parallel.h"

namespace bloomwall::filter {
namespace {

class Run {
 public:
  Run(BlockSource& source, const BlockWork& work) : source_(source), work_(work) {}

  void work(unsigned worker) {
    LineBlock block;
    while (!over_.load(std::memory_order_relaxed) && fill(worker, block)) work_.parse(worker, block);
    if (work_.end) work_.end(worker);
  }
  Result<void> outcome() {
    if (error_) return unexpected(*std::move(error_));
    return {};
  }

 private:
  bool fill(unsigned worker, LineBlock& block) {
    if (work_.before) {
      if (auto ok = work_.before(worker); !ok) return fail(std::move(ok).error());
    }
    auto more = source_.next(block);
    if (!more) return fail(std::move(more).error());
    return *more;
  }
  bool fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    over_.store(true, std::memory_order_relaxed);
    return false;
  }

  BlockSource& source_;
  const BlockWork& work_;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

Result<void> run_blocks(BlockSource& source, unsigned workers, const BlockWork& work) {
  Run run(source, work);
  std::vector<std::jthread> helpers;
  helpers.reserve(workers);
  unsigned begun = 1;
  while (begun < workers && add_thread(helpers, [&run, begun] { run.work(begun); })) ++begun;
  run.work(0);
  helpers.clear();  // joins
  return run.outcome();
}

}  // namespace bloomwall::filter
