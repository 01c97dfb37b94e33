// Credentials that wait to be checked, and the one thread that checks them. Clients take turns, so that one that sends
// many delays the others by one check only; equal credentials are checked once for all who wait for them. Bounded:
// where there is no room, ask() says so.
// The thread starts with the first question and yields to the event loops (nice 10). Checks are Checker's.
// Threads: ask() any; Checker and `done` are called on the queue's own thread. The destructor waits for the check that
// is running, and drops the others without calling `done`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "proxy/auth/authentication_rules.h"
#include "proxy/auth/basic_credentials.h"
#include "proxy/auth/credential_key.h"
#include "proxy/auth/login.h"

namespace bloomwall::proxy {

struct CredentialQuestion {
  AuthenticationRulesPtr rules;
  NameAndPassword credentials;
  CredentialKey key{};  // of the credentials
  ClientKey client{};
  AttemptLimits::Key user{};  // of the name
};

class CheckQueue {
 public:
  static constexpr std::size_t kMostWaiting = 256;  // questions
  static constexpr std::size_t kMostOfClient = 16;  // of these
  static constexpr std::size_t kMostAskers = 4096;  // who wait for an answer
  class Checker {
   public:
    virtual Login check(const CredentialQuestion& question) = 0;  // may take long

   protected:
    ~Checker() = default;
  };
  using Done = std::function<void(const Login&)>;

  explicit CheckQueue(Checker& checker) : checker_(checker) {}
  ~CheckQueue();
  CheckQueue(const CheckQueue&) = delete;
  CheckQueue& operator=(const CheckQueue&) = delete;

  bool ask(CredentialQuestion question, Done done);  // false: no room; done is not called

 private:
  struct Item {
    CredentialQuestion question;
    std::vector<Done> askers;
  };
  using ItemPtr = std::unique_ptr<Item>;
  using PendingKey = std::pair<CredentialKey, std::uint64_t>;  // and the edition of the users
  static PendingKey pending_key(const CredentialQuestion& question) {
    return {question.key, question.rules->users->edition()};
  }
  bool has_thread();
  void run();
  void check_next(std::unique_lock<std::mutex>& lock);

  Checker& checker_;
  std::thread thread_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable wake_;
  std::map<ClientKey, std::deque<ItemPtr>> lines_;  // a line for each client that waits
  std::deque<ClientKey> turns_;                     // whose question is next; each client once
  std::map<PendingKey, Item*> pending_;             // those that wait, and the one that is checked
  std::size_t waiting_ = 0, askers_ = 0;
  bool stopping_ = false;
};

}  // namespace bloomwall::proxy
