// SPDX-License-Identifier: Apache-2.0
#include "filter/build/block_pipeline.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace bloomwall::filter {
namespace {

// Blocks on their way: empty ones to the reader, full ones to the workers.
class BlockQueue {
 public:
  explicit BlockQueue(std::size_t blocks) : empty_(blocks) {}

  LineBlock take_empty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !empty_.empty(); });
    return pop(empty_);
  }
  std::optional<LineBlock> take_full() {  // nothing: there will be no more
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !full_.empty(); });
    return full_.empty() ? std::nullopt : std::optional(pop(full_));
  }
  void put_empty(LineBlock block) { put(empty_, std::move(block)); }
  void put_full(LineBlock block) { put(full_, std::move(block)); }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  static LineBlock pop(std::deque<LineBlock>& from) {
    LineBlock block = std::move(from.front());
    from.pop_front();
    return block;
  }
  void put(std::deque<LineBlock>& to, LineBlock block) {
    const std::lock_guard lock(mutex_);
    to.push_back(std::move(block));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LineBlock> empty_, full_;
  bool closed_ = false;
};

Result<void> run_alone(const NextBlock& next, const ParseBlock& parse) {
  LineBlock block;
  while (true) {
    auto more = next(block);
    if (!more) return unexpected(std::move(more).error());
    if (!*more) return {};
    parse(0, block);
  }
}

}  // namespace

Result<void> run_blocks(const NextBlock& next, unsigned workers, const ParseBlock& parse) {
  if (workers <= 1) return run_alone(next, parse);
  BlockQueue queue(std::size_t{2} * workers);
  std::vector<std::jthread> threads;
  threads.reserve(workers);
  for (unsigned worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&queue, &parse, worker] {
      while (auto block = queue.take_full()) {
        parse(worker, *block);
        queue.put_empty(std::move(*block));
      }
    });
  }
  Result<void> outcome;
  while (true) {
    LineBlock block = queue.take_empty();
    auto more = next(block);
    if (more && *more) {
      queue.put_full(std::move(block));
      continue;
    }
    if (!more) outcome = unexpected(std::move(more).error());
    break;
  }
  queue.close();
  threads.clear();  // joins
  return outcome;
}

}  // namespace bloomwall::filter
