// Exceptions over the API (api_access.h), and what `bloomwall allow`, `deny` and `exceptions` ask:
//   GET    /api/v1/exceptions?cursor=&search=&order=&limit=   {"items":[...],"next":"17"}, each as in exception_item.h,
//                                    with "void": why it has no effect, where a group, a user or a filter that it names
//                                    is not there any more (name_review.h). By id, "order=newest" from the other end;
//                                    "limit" up to kMostPage; "search": those that have this text in one of their
//                                    members, whatever its case; "next": the cursor of the next page, or null
//   POST   /api/v1/exceptions        {"action":"allow","entry":"example.com","filters":["ads"],"group":"pupils",
//                                    "until":"2026-11-23T12:00:00Z","why":"..."}: 201,
//                                    {"item":{...},"warnings":["..."]}. "entry" as in an allow list; "filters" may be
//                                    left out; so may "client", "user" and "group", of which one may be given; "until":
//                                    null stays, left out is a day; with "until_build": true it is removed once the
//                                    filters do not list the entry any more, and "until" left out is null
//   DELETE /api/v1/exceptions/{id}   200, {"item":{...}}
// A change is on the disk and asked by every worker before the reply. Errors are application/problem+json (RFC 9457):
// 400 what cannot be taken, 403 a reviewer of some groups alone (Caller::groups) asks for others, 404 no such id, 409
// there are too many, there is no such group (one that is to come is configured and reloaded first), or a filter that
// it names takes no exceptions, 412 the field If-Match names another ETag than GET would give, 500 the state cannot be
// written, 503 the process ends. After an error nothing has changed. Role: reviewer. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/held_clock.h"
#include "base/random.h"
#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"
#include "proxy/explain/exception_review.h"

namespace bloomwall::proxy {

class ExceptionsApi {
 public:
  static constexpr std::size_t kMostPage = 1000, kUsualPage = 200;
  ExceptionsApi(StateService& state, Served& served) : state_(state), served_(served) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them
  // Forgets those that have ended, and switches that have, and has tunnels judged again, which waits for no disk. To be
  // called each second. What has ended by a clock that has jumped ahead is not in force, but is kept until the clock is
  // believed (base/held_clock.h).
  void sweep();
  void note_builds(std::vector<StateStore::BuildFinding> findings);  // of a policy that is served from now on

 private:
  HttpReply list(const ApiRequest& request) const;  // those that have not ended
  // Of all, without making a page.
  static std::string etag_of(const State& state, std::uint64_t instance, std::int64_t now);
  // `typed`: its entry as its maker has written it.
  std::vector<std::string> warnings_of(const ExceptionItem& item, const std::string& typed) const;
  HttpReply make(const ApiRequest& request);
  HttpReply remove(const ApiRequest& request);
  void publish(const ExceptionItem& item, const HttpStream& asker, bool is_new, const std::string& typed);

  StateService& state_;
  Served& served_;
  std::uint64_t instance() const { return instance_ + served_.generation(); }
  ExceptionReview review() const { return {served_.edition(), state_.state().tokens.get()}; }  // by what is served
  nlohmann::ordered_json shown(const ExceptionItem& item) const;
  const std::uint64_t instance_ = random_value<std::uint64_t>();  // versions restart with each process
  std::int64_t believed(std::int64_t now);                        // both in seconds
  std::optional<HeldClock> clock_;                                // from the first sweep on
  bool is_sweeping_ = false;
  std::size_t ended_ = 0;  // exceptions and switches that have, when sweep() looked last
};

}  // namespace bloomwall::proxy
