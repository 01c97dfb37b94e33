// /metrics: everything the process counts, in Prometheus text exposition. Names: bloomwall_* from the table in
// proxy/telemetry/counters.h plus those made in metrics.cc, and the usual process_*. Labels are bounded: enumerations
// of ours and configured names (filters, groups, schedules, helpers, listeners); nothing that a client or an origin
// sends becomes one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "proxy/api/admin_pages.h"
#include "proxy/api/http_server.h"
#include "proxy/api/report_webhook.h"
#include "proxy/api/reports_api.h"
#include "proxy/decision/snapshot.h"
#include "proxy/http/serialise.h"
#include "proxy/query_log/query_log.h"
#include "proxy/reload/refusal_reason.h"
#include "proxy/telemetry/counters.h"
#include "proxy/update/lists_state.h"
#include "proxy/worker/server.h"

namespace bloomwall::proxy {

// Of the configuration's files beside what is served (ConfigurationOnDisk).
struct DiskFigures {
  bool differs = false, is_refused = false;
};

struct ReloadCounts {
  std::uint64_t succeeded = 0, failed = 0;               // the first load counts too
  std::array<std::uint64_t, kRefusalReasons> refused{};  // by RefusalReason
  TimePoint last_success{};
};

struct UpgradeCounts {
  std::uint64_t succeeded = 0, failed = 0;
};

struct LogCounts {
  std::uint64_t access_written = 0, access_dropped = 0, daemon_dropped = 0;  // lines
};

// Of the admin address and the control socket together.
struct AdminCounts {
  HttpServer::Answered answered = {};
  std::uint64_t login_failures = 0;
};

struct MetricsInput {
  const Counters& counters;  // the sum over workers
  Gauges gauges;
  const Snapshot* snapshot = nullptr;  // these two are null while starting
  const filter::Policy* policy = nullptr;
  std::size_t policies_alive = 0;  // the one that is served, and older ones still referenced
  Authenticator::Figures logins = {};
  ReloadCounts reloads;
  const std::map<std::string, std::int64_t>* last_good = nullptr;  // LastGood::Outcome::since; null: of no filter
  DiskFigures disk = {};
  LogCounts logs;
  struct StateFigures {
    bool is_lost = false;
    std::size_t allowed = 0, denied = 0, tokens = 0;  // exceptions by action
    std::size_t insisted = 0;  // that wait for a build, and ExceptionItem::kInsists builds list them still
    std::size_t void_allowed = 0, void_denied = 0, void_switches = 0, void_tokens = 0;  // VoidNames
  };
  StateFigures state = {};
  AdminCounts admin = {};
  ReportFigures reports = {};
  QueryLog::Figures query_log = {};
  ReportCounts report_counts = {};
  ReportWebhook::Figures webhook = {};
  UpgradeCounts upgrades = {};
  const ListsState* lists = nullptr;  // null while starting
  Phase phase = Phase::starting;
  std::chrono::milliseconds loop_silence{0};
  TimePoint now;
};
std::string metrics_text(const MetricsInput& input);

}  // namespace bloomwall::proxy
