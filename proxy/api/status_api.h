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
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/api/admin_pages.h"
#include "proxy/api/api_access.h"
#include "proxy/api/state_service.h"
#include "proxy/api/traffic_service.h"
#include "proxy/decision/snapshot.h"
#include "proxy/reload/reload_job.h"

namespace bloomwall::proxy {

class StatusApi {
 public:
  static constexpr std::size_t kReloads = 20;
  struct Daemon {
    std::function<const Edition&()> served;  // its pointers are null while starting
    std::function<Phase()> phase;
    std::string configuration;
    std::function<TrafficService::Status()> traffic;
    std::function<ConfigurationOnDisk()> on_disk;
    conf::RestartValues since_start = {};  // what a reload has not changed
  };
  StatusApi(const StateService& state, Daemon daemon) : state_(state), daemon_(std::move(daemon)) {}

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
  Daemon daemon_;
  const std::int64_t started_ = std::time(nullptr);
  std::deque<Reload> reloads_;  // the newest first
};

std::string_view api_description();  // openapi.json

}  // namespace bloomwall::proxy
