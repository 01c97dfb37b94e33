// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/check_queue.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <system_error>
#include <utility>
#include <vector>

namespace bloomwall::proxy {

CheckQueue::~CheckQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool CheckQueue::ask(CredentialQuestion question, Done done) {
  const std::lock_guard lock(mutex_);
  if (!has_thread()) return false;
  const CredentialKey key = question.key;
  const ClientKey client = question.client;
  const std::uint64_t edition = question.rules->edition;
  if (!questions_.add({key, edition}, client, std::move(question), std::move(done), kMostWaiting)) return false;
  wake_.notify_one();
  return true;
}

bool CheckQueue::has_thread() {
  if (thread_.joinable()) return true;
  try {  // begun by a worker's thread, it blocks the signals that this one blocks
    thread_ = std::thread([this] { run(); });
    return true;
  } catch (const std::system_error&) {  // tried again with the next question
    return false;
  }
}

void CheckQueue::run() {
  constexpr int kNice = 10;
  pthread_setname_np(pthread_self(), "passwords");
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);  // of this thread alone, on Linux
  for (std::unique_lock lock(mutex_);;) {
    wake_.wait(lock, [this] { return stopping_ || !questions_.empty(); });
    if (stopping_) return;
    check_next(lock);
  }
}

// Releases the lock meanwhile.
void CheckQueue::check_next(std::unique_lock<std::mutex>& lock) {
  const auto item = questions_.take();
  lock.unlock();
  const Login login = checker_.check(item->question);
  lock.lock();
  const std::vector<Done> askers = questions_.finish(*item);
  lock.unlock();
  for (const Done& done : askers) done(login);
  lock.lock();
}

}  // namespace bloomwall::proxy
