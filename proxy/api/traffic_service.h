// What the process knows of its traffic, for people: the query log, its search, live streams, and figures over time.
// Owned by the Daemon; tick() is called once a second. Thread: the loop's.
// Call order: construct, Server::create() with query_log(), use() for each edition, routes(); the server must be gone
// before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/config.h"
#include "proxy/api/figures_api.h"
#include "proxy/api/requests_api.h"
#include "proxy/api/stream_api.h"
#include "proxy/io/event_loop.h"
#include "proxy/query_log/query_log.h"

namespace bloomwall::proxy {

class TrafficService {
 public:
  TrafficService(EventLoop& loop, const Served& served);
  TrafficService(const TrafficService&) = delete;
  TrafficService& operator=(const TrafficService&) = delete;

  QueryLog& query_log() { return log_; }
  void use(const conf::Config& settings);
  void tick();
  void hand_over() { streams_.hand_over(); }  // another process serves: live streams end
  std::vector<ApiRoute> routes();             // of this object, which must outlive them

  struct Status {
    conf::QueryLog::Record record = conf::QueryLog::Record::off;
    conf::QueryLog::Clients clients = conf::QueryLog::Clients::full;
    QueryLog::Figures figures;
  };
  Status status() const { return {record_, clients_, log_.figures()}; }

 private:
  const ClientMask mask_;
  conf::QueryLog::Record record_ = conf::QueryLog::Record::off;
  conf::QueryLog::Clients clients_ = conf::QueryLog::Clients::full;
  FiguresApi figures_;
  RequestsApi requests_;
  QueryLog log_;
  StreamApi streams_;
};

const char* to_string(conf::QueryLog::Record record);
const char* to_string(conf::QueryLog::Clients clients);

}  // namespace bloomwall::proxy
