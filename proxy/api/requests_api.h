// GET /api/v1/requests   requests in the query log (request_search.h), the newest first:
//   ?host=&path=&client=&user=&filter=&group=&decision=&id=&since=&cursor=
//   {"items":[...],"next":"2026-11-23.123","looked_to":"...","complete":false,"unreadable":[]}
// A client is asked for as it is stored, or by its address: under query_log.clients: network that finds its network.
// Operator. Rows that have ended less than a second ago may be missing. 400: a decision, since or cursor that is none,
// or a client or user where none are stored;
// 503: there is no folder, or kMostWaiting searches wait already.
// Searches run on a thread of their own, one after the other, for at most two seconds each.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <tl/expected.hpp>

#include "base/job_thread.h"
#include "conf/config.h"
#include "proxy/api/api_access.h"
#include "proxy/io/event_loop.h"
#include "proxy/query_log/request_search.h"

namespace bloomwall::proxy {

class RequestsApi {
 public:
  static constexpr std::size_t kMostWaiting = 16;

  explicit RequestsApi(EventLoop& loop) : loop_(loop), thread_(kMostWaiting, JobThread::AtEnd::drop) {}

  ApiRoute route();  // of this object, which must outlive it
  // `folder`: empty: there is none. `clients`: as rows have them.
  void use(const std::filesystem::path& folder, conf::QueryLog::Clients clients) {
    folder_ = folder;
    clients_ = clients;
  }

 private:
  HttpReply answer(const ApiRequest& request);

  EventLoop& loop_;
  std::filesystem::path folder_;
  conf::QueryLog::Clients clients_ = conf::QueryLog::Clients::full;
  JobThread thread_;  // last: it posts to the loop
};

// What a request asks for. Error: why it cannot be understood.
tl::expected<RequestQuery, std::string> query_of(const RequestHead& head);

// Asks for clients and users as rows have them: of an address its network is asked for, too. Error: nothing that is
// stored could be it, so that an empty answer would say more than is known.
tl::expected<void, std::string> mask_question(RequestQuery& query, conf::QueryLog::Clients clients);

}  // namespace bloomwall::proxy
