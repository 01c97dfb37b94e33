// Credentials that wait to be checked, in turns (turn_queue.h), and the one thread that checks them.
// The thread starts with the first question and yields to the event loops (nice 10). Checks are Checker's.
// Threads: ask() any; Checker and `done` are called on the queue's own thread. The destructor waits for the check that
// is running, and drops the others without calling `done`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "proxy/auth/authentication_rules.h"
#include "proxy/auth/basic_credentials.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/login.h"
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
  static constexpr std::size_t kMostWaiting = 256;  // questions
  class Checker {
   public:
    virtual Login check(const CredentialQuestion& question) = 0;  // may take long

   protected:
    ~Checker() = default;
  };
  using Done = std::function<void(const Login&)>;
  static constexpr std::size_t kMostOfClient = TurnQueue<CredentialQuestion, Done>::kMostOfClient;

  explicit CheckQueue(Checker& checker) : checker_(checker) {}
  ~CheckQueue();
  CheckQueue(const CheckQueue&) = delete;
  CheckQueue& operator=(const CheckQueue&) = delete;

  bool ask(CredentialQuestion question, Done done);  // false: no room; done is not called

 private:
  bool has_thread();
  void run();
  void check_next(std::unique_lock<std::mutex>& lock);

  Checker& checker_;
  std::thread thread_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable wake_;
  TurnQueue<CredentialQuestion, Done> questions_;
  bool stopping_ = false;
};

}  // namespace bloomwall::proxy
