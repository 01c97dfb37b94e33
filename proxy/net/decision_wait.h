// Suspends a request that cannot be decided yet, because pages of a filter must come from the disk first. However often
// that happens to one request, one deadline covers it: timeouts.connect. Meanwhile the client's body is not read.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/net/page_reader.h"

namespace bloomwall::proxy {

struct HttpError;
struct WorkerState;

class DecisionWait final : PageReader::Handler {
 public:
  class Handler {
   public:
    virtual void on_decision_ready() = 0;  // ask again
    virtual void on_decision_late(const HttpError& error) = 0;

   protected:
    ~Handler() = default;
  };
  DecisionWait(WorkerState& worker, Handler& handler);
  ~DecisionWait() { cancel(); }
  DecisionWait(const DecisionWait&) = delete;
  DecisionWait& operator=(const DecisionWait&) = delete;

  // For the pages that the Decider has just missed. `limit`: from the request's first wait on.
  void for_pages(Milliseconds limit);
  void cancel();  // the handler is not called

 private:
  void begin(Milliseconds limit);
  void on_pages_read() override;
  void on_deadline();

  WorkerState& worker_;
  Handler& handler_;
  PageReader::Wait* pages_ = nullptr;
  Timer deadline_;
  Milliseconds since_{0};  // the first wait; 0: there was none
};

}  // namespace bloomwall::proxy
