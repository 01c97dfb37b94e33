// Work that falls into independent pieces, done by several threads. The calling thread is one of them, and where the
// system gives no more threads than that (limits on tasks), it does what the others would have done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "filter/result.h"

namespace bloomwall::filter {

// False: the system gives none.
template <typename Run>
bool add_thread(std::vector<std::jthread>& threads, const Run& run) {
  try {
    threads.emplace_back(run);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

// Calls work(i) for every i below `count`, each once, in any order; returns when all are done. `work` must not throw.
template <typename Work>
void for_each_index(std::size_t count, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::jthread> helpers;
  helpers.reserve(threads);
  for (std::size_t i = 1; i < std::min<std::size_t>(threads, count) && add_thread(helpers, run); ++i) {
  }
  run();
}

// Calls work(state, i) likewise, each thread with a state of its own from make_state(). Either may fail: then nothing
// more is begun, and the first error is returned.
template <typename MakeState, typename Work>
Result<void> try_each_index(std::size_t count, unsigned threads, const MakeState& make_state, const Work& work) {
  std::mutex mutex;
  Result<void> outcome;
  std::atomic<std::size_t> next = 0;
  const auto fail = [&](Error error) {
    const std::lock_guard lock(mutex);
    if (outcome) outcome = unexpected(std::move(error));
    next = count;
  };
  const auto workers = static_cast<unsigned>(std::min<std::size_t>(threads, count));
  for_each_index(workers, workers, [&](std::size_t) {
    auto state = make_state();
    if (!state) return fail(std::move(state).error());
    for (std::size_t i = next++; i < count; i = next++) {
      if (auto ok = work(*state, i); !ok) return fail(std::move(ok).error());
    }
  });
  return outcome;
}

}  // namespace bloomwall::filter
