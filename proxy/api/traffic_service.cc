// SPDX-License-Identifier: Apache-2.0
#include "proxy/api/traffic_service.h"

#include <chrono>
#include <iterator>
#include <utility>

#include "base/names.h"
#include "proxy/reload/rollback_protection.h"

namespace bloomwall::proxy {
namespace {

using Record = conf::QueryLog::Record;
using Clients = conf::QueryLog::Clients;

std::int64_t wall_clock() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

TrafficService::TrafficService(EventLoop& loop, const Served& served)
    : mask_(ClientMask::random_secret()),
      figures_(loop, mask_, served, wall_clock),
      requests_(loop),
      log_(mask_, {.show =
                       [this, &loop](QueryLog::Shown shown) {
                         loop.post([this, shown = std::move(shown)] { streams_.show(shown); });
                       },
                   .now = wall_clock}),
      streams_([this](Watch watch) { log_.watch(watch); }, &StreamApi::Clock::now) {}

void TrafficService::use(const conf::Config& settings) {
  const std::filesystem::path folder = query_log_folder(settings.query_log, state_folder(settings));
  record_ = folder.empty() ? Record::off : settings.query_log.record;
  clients_ = settings.query_log.clients;
  log_.use({.query_log = settings.query_log, .folder = folder});
  requests_.use(folder, settings.query_log.clients);
  figures_.use(settings);
}

void TrafficService::tick() {
  figures_.tick();
  streams_.tick();
}

std::vector<ApiRoute> TrafficService::routes() {
  std::vector<ApiRoute> routes = figures_.routes();
  routes.push_back(requests_.route());
  routes.push_back(streams_.route());
  return routes;
}

const char* to_string(Record record) {
  static constexpr auto kWords =
      name_table<Record>({{Record::off, "off"}, {Record::blocked, "blocked"}, {Record::all, "all"}});
  return kWords.text(record);
}

const char* to_string(Clients clients) {
  static constexpr auto kWords = name_table<Clients>(
      {{Clients::full, "full"}, {Clients::network, "network"}, {Clients::keyed, "keyed"}, {Clients::none, "none"}});
  return kWords.text(clients);
}

}  // namespace bloomwall::proxy
