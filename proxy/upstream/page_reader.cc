// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/page_reader.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

#include "filter/policy/policy.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

PageReader::PageReader(EventLoop& loop)
    : loop_(loop), look_again_(loop.timers(), [](void* self) { static_cast<PageReader*>(self)->finish(); }, this) {}

PageReader::~PageReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

PageReader::Wait* PageReader::read(PolicyPtr policy, std::span<const std::byte* const> pages, Handler& handler) {
  auto wait = std::make_unique<Wait>();
  wait->policy = std::move(policy);
  wait->pages.assign(pages.begin(), pages.end());
  wait->handler = &handler;
  Wait* const ticket = wait.get();
  if (!has_thread()) {
    read_ahead(std::move(wait));
    return ticket;
  }
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(wait));
  wake_.notify_one();
  return ticket;
}

// The kernel begins to read and does not wait for it.
void PageReader::read_ahead(std::unique_ptr<Wait> wait) {
  constexpr Milliseconds kLookAgain{20};
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const std::byte* const page : wait->pages) {
    const auto begin = reinterpret_cast<std::uintptr_t>(page) / page_bytes * page_bytes;
    ::madvise(reinterpret_cast<void*>(begin), page_bytes, MADV_WILLNEED);  // NOLINT: whole pages around an address
  }
  const std::lock_guard lock(mutex_);
  done_.push_back(std::move(wait));
  look_again_.set(kLookAgain);
}

bool PageReader::has_thread() {
  if (thread_.joinable()) return true;
  try {  // begun by the worker's thread, it blocks the signals that this one blocks
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error&) {  // tried again with the next wait
    return false;
  }
}

void PageReader::cancel(Wait* wait) { wait->handler = nullptr; }

void PageReader::run() {
  pthread_setname_np(pthread_self(), "pages");
  for (std::unique_lock lock(mutex_);;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    take_turn(lock);
  }
}

// Reads the pages of the present waiters; releases the lock meanwhile.
void PageReader::take_turn(std::unique_lock<std::mutex>& lock) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMostAtOnce));
  Waits now(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.begin() + count));
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  lock.unlock();
  std::vector<const std::byte*> pages;
  for (const auto& wait : now) pages.insert(pages.end(), wait->pages.begin(), wait->pages.end());
  filter::Policy::fault_in(pages);
  for (const auto& wait : now) {
    wait->policy->check_pages(wait->pages);
    wait->is_checked = true;
  }
  lock.lock();
  const bool is_told = !done_.empty();
  std::move(now.begin(), now.end(), std::back_inserter(done_));
  if (!is_told) loop_.post([this] { finish(); });
}

void PageReader::finish() {
  Waits done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const auto& wait : done) {
    if (wait->handler != nullptr && !wait->is_checked) wait->policy->check_pages(wait->pages);
    if (wait->handler != nullptr) wait->handler->on_pages_read();
  }
}

}  // namespace bloomwall::proxy
