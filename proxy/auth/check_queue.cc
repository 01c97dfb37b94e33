// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/check_queue.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace bloomwall::proxy {

// Of the processors that this process may use.
std::size_t CheckQueue::threads_here() {
  cpu_set_t own;
  CPU_ZERO(&own);
  const int processors = ::sched_getaffinity(0, sizeof own, &own) == 0
                             ? CPU_COUNT(&own)
                             : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(processors - 1, 1)), 1, kMostThreads);
}

CheckQueue::~CheckQueue() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

bool CheckQueue::ask(CredentialQuestion question, Done done) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || !has_threads()) return false;
  const CredentialKey key = question.key;
  const ClientKey client = question.client;
  const std::uint64_t edition = question.rules->edition;
  const std::size_t free = kMostWaiting - std::min(questions_.waiting(), kMostWaiting);
  const std::size_t most_of_client = std::max(kMostOfClient, free / 2);
  if (!questions_.add({key, edition}, client, std::move(question), std::move(done), kMostWaiting, most_of_client)) {
    return false;
  }
  is_busy_ = true;
  wake_.notify_one();
  return true;
}

// One more where none waits for this question.
bool CheckQueue::has_threads() {
  if (idle_ > questions_.waiting() || threads_.size() == most_threads_) return true;
  try {  // begun by a worker's thread, it blocks the signals that this one blocks
    threads_.emplace_back([this] { run(); });
    return true;
  } catch (const std::system_error&) {  // tried again with the next question
    return !threads_.empty();
  }
}

void CheckQueue::run() {
  constexpr int kNice = 10;
  pthread_setname_np(pthread_self(), "passwords");
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);  // of this thread alone, on Linux
  PasswordHasher hasher;
  const auto goes = [this](const auto& item, std::size_t out) { return may_go(item.question, out); };
  for (std::unique_lock lock(mutex_);;) {
    ++idle_;
    wake_.wait(lock, [&] { return stopping_ || questions_.has_next(goes); });
    --idle_;
    if (stopping_) return;
    check_next(hasher, lock);
  }
}

bool CheckQueue::may_go(const CredentialQuestion& question, std::size_t out) {
  return out == 0 || out < checker_.room(question);
}

// Releases the lock meanwhile.
void CheckQueue::check_next(PasswordHasher& hasher, std::unique_lock<std::mutex>& lock) {
  const auto item = questions_.take([this](const auto& next, std::size_t out) { return may_go(next.question, out); });
  if (item == nullptr) return;  // an attempt was used up since
  ++out_;
  lock.unlock();
  const Login login = checker_.check(item->question, hasher);
  lock.lock();
  const std::vector<Done> askers = questions_.finish(*item);
  lock.unlock();
  wake_.notify_all();  // its client may have more to ask
  for (const Done& done : askers) done(login);
  lock.lock();
  --out_;
  is_busy_ = out_ > 0 || questions_.waiting() > 0;
}

}  // namespace bloomwall::proxy
