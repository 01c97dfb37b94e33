// Suspends a request that cannot be decided yet, because its credentials are being checked, or because pages of a
// filter must come from the disk first. However often that happens to one request, one deadline covers it:
// timeouts.connect. Where many log in at once, a request waits longer than that while others before it have their turn
// (Authenticator::progress()), a password waits for its check, or its own answer is on the way, kMostWait at most.
// Meanwhile the client's body is not read.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "proxy/http/http_error.h"
#include "proxy/upstream/page_reader.h"

namespace bloomwall::proxy {

struct Login;  // proxy/auth/login.h
struct WorkerState;

class DecisionWait final : PageReader::Handler {
 public:
  static constexpr Milliseconds kMostWait{600'000};
  class Handler {
   public:
    virtual void on_decision_ready() = 0;  // ask again
    virtual void on_decision_late(const HttpError& error) = 0;

   protected:
    ~Handler() = default;
  };
  DecisionWait(WorkerState& worker, Handler& handler);
  ~DecisionWait();
  DecisionWait(const DecisionWait&) = delete;
  DecisionWait& operator=(const DecisionWait&) = delete;

  // For the pages that the Decider has just missed. `limit`: from the request's first wait on.
  void for_pages(Milliseconds limit);
  // For the answer to a question that is asked elsewhere: what this returns may be called on any thread, once. login()
  // has it by the time the handler is called.
  std::function<void(const Login&)> for_login(Milliseconds limit);
  const std::unique_ptr<const Login>& login() const { return login_; }
  void cancel();  // the handler is not called
  void renew();   // for another request: the deadline is that of its own first wait; only while nothing is awaited

 private:
  struct LoginTicket {
    DecisionWait* wait = nullptr;           // used on the loop only; null: cancelled
    std::atomic<bool> is_answered = false;  // the answer is in the mailbox
  };
  void begin(Milliseconds limit);
  void on_login(const Login& login);
  void on_pages_read() override;
  void on_deadline();

  WorkerState& worker_;
  Handler& handler_;
  PageReader::Wait* pages_ = nullptr;
  std::shared_ptr<LoginTicket> ticket_;
  std::unique_ptr<const Login> login_;
  Timer deadline_;
  Milliseconds since_{0};  // the first wait; 0: there was none
  Milliseconds limit_{0};  // these two of a login
  std::uint64_t progress_ = 0;
  bool has_missed_pages_ = false;
};

}  // namespace bloomwall::proxy
