// GET /api/v1/explain?url=&client=&user=&listener=&at=&under=   what the proxy does with a URL, now or at that time
// (RFC 3339):
//   {"url":"...","canonical":"...","verdict":"blocked","reason":"listed","filter":"ads",
//    "expression":"S example.com","exception":null,"group":"pupils","user":null,"at":"...","dialled_as":null,
//    "tunnel":null,"valid_until":"...","under":[]}
// "user": {"name":"anna","groups":["staff"]} where the client must log in to go there; "dialled_as": the name that safe
// search has for the host; "tunnel": of an https URL the verdict on its host; "valid_until": when a schedule, a switch
// or an exception changes what the proxy does with it, null where none is known to (verdict_end.h; as `bloomwall
// explain`); "under": for each other name of the connection the verdict on the URL with that (under_name.h).
// Role: reviewer. 400 the question; 503 nothing is served, or kMostWaiting questions wait already.
// Questions are answered on a thread of their own, one after the other: they may wait for a disk.
// Thread: the loop's. The destructor waits for the question under way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

#include "base/job_thread.h"
#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class ExplainApi {
 public:
  static constexpr std::size_t kMostWaiting = 16;

  ExplainApi(EventLoop& loop, const StateService& state, const Served& served)
      : loop_(loop), state_(state), served_(served), thread_(kMostWaiting, JobThread::AtEnd::drop) {}
  ExplainApi(const ExplainApi&) = delete;
  ExplainApi& operator=(const ExplainApi&) = delete;

  ApiRoute route();  // of this object, which must outlive it

 private:
  HttpReply answer(const ApiRequest& request);

  EventLoop& loop_;
  const StateService& state_;
  const Served& served_;
  JobThread thread_;  // last: it posts to the loop
};

}  // namespace bloomwall::proxy
