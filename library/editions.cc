// SPDX-License-Identifier: Apache-2.0
#include "library/editions.h"

#include <chrono>
#include <thread>
#include <utility>

namespace bloomwall::library {
namespace {

// Threads take stripes in turn.
std::size_t number_of_thread() {
  static std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

Editions::Use::Use(const Editions& editions)
    : users_(editions.stripes_[number_of_thread() % kStripes].users[editions.set_.load()]) {
  users_.fetch_add(1);  // before the pointer is read, in the one order of all such operations
  edition_ = editions.current_.load();
}

void Editions::replace(std::unique_ptr<const Edition> edition) {
  const std::unique_ptr<const Edition> former(current_.exchange(edition.release()));
  const std::size_t set = set_.load();
  wait_until_empty(1 - set);  // only who was about to be counted when the set changed last is there
  set_.store(1 - set);
  wait_until_empty(set);
}

void Editions::wait_until_empty(std::size_t set) const {
  for (const Stripe& stripe : stripes_) {
    while (stripe.users[set].load() != 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace bloomwall::library
