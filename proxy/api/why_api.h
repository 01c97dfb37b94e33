// GET /api/v1/why?url=&filter=&under=   why.h's answer about what is served now, from the lists in
// filters[].sources_folder.
// Role: reviewer. 400 the question; 503 nothing is served yet, or kMostWaiting questions wait already.
// Lists are read on a thread of its own, one question after the other.
// Threads: the loop's. The destructor waits until the thread has noticed, which it does within a block of a list.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "base/job_thread.h"
#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/explain/why.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class WhyApi {
 public:
  static constexpr std::size_t kMostWaiting = 16;
  using Done = std::function<void(const WhyAnswer& answer)>;

  WhyApi(EventLoop& loop, const Served& served);
  WhyApi(const WhyApi&) = delete;
  WhyApi& operator=(const WhyApi&) = delete;

  ApiRoute route();  // of this object, which must outlive it
  // `done` is called on the loop. False: nothing is served, or too many wait.
  bool ask(WhyQuestion question, Done done);

 private:
  HttpReply answer(const ApiRequest& request);

  EventLoop& loop_;
  const Served& served_;
  JobThread thread_;  // last: it uses all of the above
};

}  // namespace bloomwall::proxy
