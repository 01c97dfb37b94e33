// Credentials that wait to be checked, in turns (turn_queue.h), and the threads that check them.
// A check is slow on purpose, and after a cold start everybody needs one: so there is a thread for each processor but
// one, up to kMostThreads (each may need 128 MiB of memory). They start as questions come, and yield to the event loops
// (nice 10). Of one client no more is checked at a time than Checker::room().
// Threads: ask() any; Checker and `done` are called on the queue's own threads, several at a time. The destructor waits
// for the checks that are running, and drops the others without calling `done`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proxy/auth/authentication_rules.h"
#include "proxy/auth/basic_credentials.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/login.h"
#include "proxy/auth/password_hash.h"
#include "proxy/auth/turn_queue.h"

namespace bloomwall::proxy {

struct CredentialQuestion {
  AuthenticationRulesPtr rules;
  NameAndPassword credentials;  // as they came
  std::string called;           // AuthenticationRules::called()
  CredentialKey key{};          // of the credentials
  ClientKey client{};
  AttemptLimits::Key user{};  // of the name
};

class CheckQueue {
 public:
  static constexpr std::size_t kMostWaiting = 2048;  // questions
  static constexpr std::size_t kMostThreads = 8;
  class Checker {
   public:
    virtual Login check(const CredentialQuestion& question, PasswordHasher& hasher) = 0;  // may take long
    // How many questions of its client may be checked at a time; with 0 it is checked all the same, which is to say
    // why not.
    virtual std::size_t room(const CredentialQuestion& question) = 0;

   protected:
    ~Checker() = default;
  };
  using Done = std::function<void(const Login&)>;
  // Questions of a client that may wait in any case. Where many users have one address, they may take half of what is
  // free.
  static constexpr std::size_t kMostOfClient = TurnQueue<CredentialQuestion, Done>::kMostOfClient;

  explicit CheckQueue(Checker& checker, std::size_t most_threads = threads_here())
      : checker_(checker), most_threads_(most_threads) {}
  ~CheckQueue();
  CheckQueue(const CheckQueue&) = delete;
  CheckQueue& operator=(const CheckQueue&) = delete;

  bool ask(CredentialQuestion question, Done done);  // false: no room; done is not called
  // Some question has no answer yet. Its thread, which yields to all others, may not have begun with it.
  bool is_busy() const { return is_busy_.load(); }
  static std::size_t threads_here();  // on this machine

 private:
  bool has_threads();
  void run();
  void check_next(PasswordHasher& hasher, std::unique_lock<std::mutex>& lock);
  bool may_go(const CredentialQuestion& question, std::size_t out);

  Checker& checker_;
  const std::size_t most_threads_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;  // threads that wait
  TurnQueue<CredentialQuestion, Done> questions_;
  std::size_t out_ = 0;  // questions that threads have taken, until whoever waits was told
  bool stopping_ = false;
  std::atomic<bool> is_busy_{false};  // written under the lock
};

}  // namespace bloomwall::proxy
