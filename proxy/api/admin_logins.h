// Passwords of people who sign in at the admin address (admin.users_file), checked on a thread of their own: a check
// costs 3 to 300 ms of CPU. kMostAttempts wrong ones of an address, or of a name, within kWindow lock it for kLock;
// unknown names are counted, and take as long, like others. Checks run one after the other, and each looks at
// the locks again before it, so that parallel questions gain no guesses. Passwords are wiped after the check;
// neither they nor names, in whose place people type passwords, are logged.
// Threads: ask() the loop's, which calls `done`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/job_thread.h"
#include "proxy/auth/attempt_limits.h"
#include "proxy/auth/password_hash.h"
#include "proxy/auth/user_table.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class AdminLogins {
 public:
  static constexpr std::uint32_t kMostAttempts = 5;
  static constexpr Milliseconds kLock = std::chrono::minutes(15), kWindow = kLock;
  static constexpr std::size_t kMostWaiting = 16;  // questions
  struct Question {
    UserTable::Ptr users;
    std::string name, password;
    AttemptLimits::Key client{};
  };
  struct Answer {
    enum class Result : std::uint8_t { right, wrong, locked, failed };  // failed: no memory
    Result result = Result::wrong;
    Milliseconds locked_for{0};
    std::string name, hash;  // right: whose, and the hash that the password was compared with
  };
  using Done = std::function<void(const Answer&)>;

  AdminLogins(EventLoop& loop, Milliseconds (*now)()) : loop_(loop), now_(now) {}
  AdminLogins(const AdminLogins&) = delete;
  AdminLogins& operator=(const AdminLogins&) = delete;

  bool ask(Question question, Done done);  // false: too many wait; done is not called

 private:
  Answer check(const Question& question);

  EventLoop& loop_;
  Milliseconds (*const now_)();
  AttemptLimits clients_{kWindow}, names_{kWindow};
  PasswordHasher hasher_;                                   // the thread's
  JobThread thread_{kMostWaiting, JobThread::AtEnd::drop};  // last: it uses all of the above
};

}  // namespace bloomwall::proxy
