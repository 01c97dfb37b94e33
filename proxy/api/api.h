// The API of the running proxy: the state that people change (state_service.h), and what answers the routes that read
// and change it. Changes are told to the machine's log, and reports of mistakes to people.
// Call order: open() before anything is served, so that what is denied never passes; then routes(). on_reloaded() with
// each edition of a reload; tick() once a second.
// Thread: the loop's. It must outlive the workers, which ask its tokens and hand it reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "conf/config.h"
#include "proxy/api/http_routes.h"

namespace bloomwall::proxy {

class AccessLog;             // proxy/log/access_log.h
class EventLoop;             // proxy/io/event_loop.h
class ReportWebhook;         // proxy/api/report_webhook.h
class SelfService;           // proxy/decision/self_service.h
class Served;                // proxy/api/served.h
class StateService;          // proxy/api/state_service.h
class TrafficService;        // proxy/api/traffic_service.h
struct ApiRoute;             // proxy/api/api_access.h
struct ConfigurationOnDisk;  // these two: proxy/reload/reload_job.h
struct ReloadOutcome;
struct MetricsInput;  // proxy/api/metrics.h
struct VoidNames;     // proxy/explain/name_review.h

class Api {
 public:
  // All of it outlives the API.
  struct Process {
    EventLoop& loop;
    Served& served;
    const std::filesystem::path& file;  // the configuration
    const conf::Config& started_with;
    TrafficService& traffic;
    AccessLog& log;
    ReportWebhook& webhook;
    const ConfigurationOnDisk& on_disk;
    std::function<void(std::function<void(const ReloadOutcome&)>)> reload;  // answers from any thread
  };
  // Error: the state cannot be read.
  static tl::expected<std::unique_ptr<Api>, std::string> open(const Process& process);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  StateService& state();
  bool was_usable() const;  // the state, when it was opened
  SelfService* reports();   // nullptr: reports of mistakes are not taken

  // Of this object, which must outlive them. `reload`: ReloadApi's.
  std::vector<HttpRoute> routes(HttpRoute reload);
  HttpRoute guarded(ApiRoute route);  // one more, for those whose role suffices

  void on_reloaded();
  void note(const ReloadOutcome& outcome);
  void tick();
  // Sets .state, .admin.login_failures, .reports, .report_counts, .webhook and .lists. `void_names`: of what is served.
  void add_to(MetricsInput& input, const VoidNames& void_names);

 private:
  struct Parts;
  explicit Api(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace bloomwall::proxy
