// SPDX-License-Identifier: Apache-2.0
#include "proxy/reload/descriptor_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

#include "base/figures.h"
#include "base/units.h"
#include "proxy/io/pipe_pool.h"

namespace bloomwall::proxy {
namespace {

constexpr std::uint64_t kForEachClient = 2;  // its socket and the origin's
// epoll, eventfds, resolver sockets; pipes of relays
constexpr std::uint64_t kForEachWorker = 64 + 2 * PipePool::kMost;
constexpr std::uint64_t kShareOfPool = 8;   // clients come first where there are too few for all
constexpr std::uint64_t kForTheRest = 128;  // logs, admin and control connections, files while a reload reads them

std::uint64_t workers_of(const conf::Config& settings) {
  return settings.workers != 0 ? settings.workers : std::max(1U, std::thread::hardware_concurrency());
}

std::uint64_t without_clients(const conf::Config& settings) {
  const std::uint64_t each_worker = kForEachWorker + settings.listeners.size() + settings.answers.size();
  // During a reload old and new filters, or their copies, are open together; of a file and its copy only one is open at
  // a time.
  const auto exact_sides = static_cast<std::uint64_t>(
      std::ranges::count_if(settings.filters, [](const conf::Filter& filter) { return !filter.exact.empty(); }));
  return kForTheRest + workers_of(settings) * each_worker + 2 * (settings.filters.size() + exact_sides);
}

// Each worker may keep its share, rounded up.
std::uint64_t pooled(const conf::Config& settings) {
  const std::uint64_t workers = workers_of(settings);
  return (settings.limits.pooled_connections + workers - 1) / workers * workers;
}

}  // namespace

std::uint64_t descriptors_for(const conf::Config& settings) {
  return without_clients(settings) + pooled(settings) + kForEachClient * settings.limits.client_connections;
}

std::uint64_t raise_descriptor_limit(std::uint64_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlimit beyond{wanted, std::max<rlim_t>(limit.rlim_max, wanted)};
  if (::setrlimit(RLIMIT_NOFILE, &beyond) == 0) return wanted;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::optional<std::string> fit_clients(conf::Config& settings, std::uint64_t available) {
  const std::uint64_t wanted = descriptors_for(settings);
  if (wanted <= available) return std::nullopt;
  const conf::Limits asked = settings.limits;
  conf::Limits& limits = settings.limits;
  // With few descriptors at most half are reserved: a relay without a pipe copies.
  const std::uint64_t rest = std::min(without_clients(settings), available / 2);
  const std::uint64_t room = available - rest;
  const std::uint64_t most_pooled = room / kShareOfPool / workers_of(settings) * workers_of(settings);
  limits.pooled_connections =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(asked.pooled_connections, most_pooled));
  const std::uint64_t fits = (room - std::min(room, pooled(settings))) / kForEachClient;
  limits.client_connections = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fits, 1, asked.client_connections));
  auto sentence = fmt::format(
      "limits.client_connections: {} clients and limits.pooled_connections: {} need {} file descriptors, and this "
      "process "
      "may have {} (LimitNOFILE, ulimit -n): at most {} clients are served and {} connections to origins kept",
      asked.client_connections, asked.pooled_connections, wanted, available, limits.client_connections,
      limits.pooled_connections);
  return sentence;
}

std::string descriptors_text(const conf::Config& settings, std::uint64_t available) {
  conf::Config fitted = settings;
  std::string verdict = "enough";
  if (fit_clients(fitted, available)) {
    verdict = fmt::format("too few, {} would be served (LimitNOFILE, ulimit -n)",
                          count_text(fitted.limits.client_connections, "client", "clients"));
  }
  return fmt::format("file descriptors at full load: {}; a process started from here may have {}: {}",
                     format_count(descriptors_for(settings)), format_count(available), verdict);
}

}  // namespace bloomwall::proxy
