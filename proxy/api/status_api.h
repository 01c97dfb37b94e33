// What the running proxy serves and has done, over the API (api_access.h):
//   GET /api/v1/status            {"version":"...","pid":1,"phase":"serving","generation":1,"configuration":"...",
//                                 "filters":2,"exceptions":0,"tokens":0,"state":{"usable":true,"kept":true},
//                                 "started":"...","query_log":{"record":"blocked","clients":"full","written":0,
//                                 "dropped":0,"bytes":0},"on_disk":{"differs":false,"refused":null},
//                                 "since_start":{"listeners":"...",...}}. on_disk: of the configuration's files.
//                                 since_start: what only a restart changes, as it is in force. Viewer
//   GET /api/v1/filters, /{name}  {"items":[...],"next":null}; one: name, file, action, exceptions, entries,
//                                 delta_entries, bytes, created, sequence, lost, rebuild_due, predicted_error,
//                                 age_seconds, generation. Viewer
//   GET /api/v1/reloads           the last kReloads, the newest first: {"at":"...","ok":true,"lines":[],"warnings":[]}.
//                                 Operator
//   GET /api/v1/openapi.json      the description of all of it (OpenAPI 3.1). Anybody
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/config.h"
#include "proxy/api/api_access.h"
#include "proxy/api/http_routes.h"
#include "proxy/api/served.h"
#include "proxy/api/state_service.h"
#include "proxy/api/traffic_service.h"
#include "proxy/reload/reload_job.h"

namespace bloomwall::proxy {

class StatusApi {
 public:
  static constexpr std::size_t kReloads = 20;
  // What of the process it shows beside what is served.
  struct Process {
    std::string configuration;      // the file
    const TrafficService& traffic;  // these two outlive the API
    const ConfigurationOnDisk& on_disk;
    conf::RestartValues since_start = {};  // what a reload has not changed
  };
  StatusApi(const StateService& state, const Served& served, Process process)
      : state_(state), served_(served), process_(std::move(process)) {}

  std::vector<ApiRoute> routes();  // of this object, which must outlive them
  static HttpRoute description();
  void note(const ReloadOutcome& outcome, std::int64_t at);

 private:
  struct Reload {
    std::int64_t at = 0;
    ReloadOutcome outcome;
  };
  HttpReply status() const;
  HttpReply filters() const;
  HttpReply filter(const ApiRequest& request) const;
  HttpReply reloads() const;

  const StateService& state_;
  const Served& served_;
  const Process process_;
  const std::int64_t started_ = std::time(nullptr);
  std::deque<Reload> reloads_;  // the newest first
};

std::string_view api_description();  // openapi.json

}  // namespace bloomwall::proxy
