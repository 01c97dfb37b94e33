// Figures over the API (api_access.h), from memory, for a dashboard. All: viewer.
//   GET /api/v1/counters            now, and since the start: TrafficTotals, Gauges, the last ten seconds
//   GET /api/v1/history?span=       {"span":"1h","step_seconds":60,"items":[...],"next":null}, the oldest step first;
//                                   24h in steps of five minutes
//   GET /api/v1/tops?span=&limit=   hosts, filters and groups of what was blocked most; and clients, of which viewers
//                                   and reviewers see nothing (null). `limit`: 1 to 1000 of each; 20 where it is
//                                   missing
//   GET /api/v1/clients             who has asked lately, the one seen last first, at most kMost of ClientsSeen:
//                                   {"since":"...","clients":"full","items":[{"client":"192.168.1.33","device":"Anna's
//                                   tablet","device_group":"children","user":null,"group":"children","requests":10,
//                                   "blocked":1,"first":"...","last":"..."}],"next":null}. Role: operator.
//                                   "clients" is query_log.clients: what "client" and "user" may say. "device" and
//                                   "device_group": of `devices`, null where none has the address or where it is
//                                   masked. Without clients of groups that are only counted, and without requests to
//                                   hosts of query_log.exclude. What was counted under another query_log.clients is
//                                   forgotten
// 400: another span or limit; 503: nothing is served yet, or any more (tops, clients).
// Whoever owns it calls tick() once a second: it takes a sample of the counters, and each minute the names from
// workers. Clients stand there as query_log.clients says. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conf/config.h"
#include "proxy/api/api_access.h"
#include "proxy/api/served.h"
#include "proxy/io/event_loop.h"
#include "proxy/query_log/client_mask.h"
#include "proxy/query_log/request_feed.h"
#include "proxy/telemetry/top_history.h"
#include "proxy/telemetry/traffic_history.h"

namespace bloomwall::proxy {

class FiguresApi {
 public:
  using Now = std::int64_t (*)();  // milliseconds since 1970
  FiguresApi(EventLoop& loop, const ClientMask& mask, const Served& served, Now now);

  std::vector<ApiRoute> routes();  // of this object, which must outlive them
  void tick();
  void use(const conf::Config& settings);

 private:
  struct Sampled {
    TrafficHistory::Sample sample;
    std::uint64_t connections = 0;
  };
  Sampled sample();
  HttpReply counters();
  HttpReply history(const ApiRequest& request);
  HttpReply tops(const ApiRequest& request);
  HttpReply tops_reply(TrafficSpan span, std::size_t limit, bool shows_clients) const;
  HttpReply clients(const ApiRequest& request);
  HttpReply clients_reply() const;
  bool collect(std::function<void()> then);
  void take(const FeedSums& sums);

  EventLoop& loop_;
  const ClientMask& mask_;
  const Served& served_;
  const Now now_;
  const std::int64_t began_;
  TrafficHistory history_;
  TopHistory tops_;
  ClientsSeen seen_;  // as clients_ has them
  std::int64_t seen_since_;
  conf::QueryLog::Clients clients_ = conf::QueryLog::Clients::full;
  std::vector<std::string> counted_groups_;      // in order: those whose clients nobody is told of
  std::map<std::string, conf::Device> devices_;  // by address
  unsigned ticks_ = 0;
};

}  // namespace bloomwall::proxy
