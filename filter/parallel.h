// Work that falls into independent pieces, done by several threads. The calling thread is one of them, and where the
// system gives no more threads than that (limits on tasks), it does what the others would have done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

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

}  // namespace bloomwall::filter
