// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/check_queue.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <system_error>
#include <utility>

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
  if (askers_ == kMostAskers) return false;
  const PendingKey key = pending_key(question);
  if (const auto same = pending_.find(key); same != pending_.end()) {
    same->second->askers.push_back(std::move(done));
    ++askers_;
    return true;
  }
  if (waiting_ == kMostWaiting || !has_thread()) return false;
  const ClientKey client = question.client;
  std::deque<ItemPtr>& line = lines_[client];
  if (line.size() == kMostOfClient) return false;
  if (line.empty()) turns_.push_back(client);  // a line that is empty is not kept
  auto item = std::make_unique<Item>();
  item->question = std::move(question);
  item->askers.push_back(std::move(done));
  pending_.emplace(key, item.get());
  line.push_back(std::move(item));
  ++waiting_;
  ++askers_;
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
    wake_.wait(lock, [this] { return stopping_ || !turns_.empty(); });
    if (stopping_) return;
    check_next(lock);
  }
}

// Releases the lock meanwhile.
void CheckQueue::check_next(std::unique_lock<std::mutex>& lock) {
  const ClientKey client = turns_.front();
  turns_.pop_front();
  const auto line = lines_.find(client);
  const ItemPtr item = std::move(line->second.front());
  line->second.pop_front();
  if (line->second.empty()) {
    lines_.erase(line);
  } else {
    turns_.push_back(client);
  }
  --waiting_;
  lock.unlock();
  const Login login = checker_.check(item->question);
  lock.lock();
  pending_.erase(pending_key(item->question));  // from here on nobody else joins
  askers_ -= item->askers.size();
  lock.unlock();
  for (const Done& done : item->askers) done(login);
  lock.lock();
}

}  // namespace bloomwall::proxy
