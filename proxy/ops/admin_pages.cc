// SPDX-License-Identifier: Apache-2.0
#include "proxy/ops/admin_pages.h"

#include <fmt/format.h>

namespace bloomwall::proxy {
namespace {

HttpReply ready_reply(const AdminAnswers& answers) {
  if (answers.phase != Phase::serving) return {.status = 503, .body = fmt::format("{}\n", to_string(answers.phase))};
  if (!answers.lost.empty()) return {.status = 503, .body = fmt::format("lost: {}\n", answers.lost)};
  return {.body = fmt::format("{}\n", to_string(answers.phase))};
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "starting";
    case Phase::serving:
      return "serving";
    case Phase::draining:
      return "draining";
  }
  return "unknown";
}

std::vector<HttpRoute> admin_routes(const std::function<AdminAnswers()>& answers) {
  return {{.method = "GET",
           .path = "/healthz",
           .handler = [](const HttpRequest&) { return HttpReply{.body = "alive\n"}; },
           .needs_host = false},
          {.method = "GET",
           .path = "/readyz",
           .handler = [answers](const HttpRequest&) { return ready_reply(answers()); },
           .needs_host = false},
          {.method = "GET", .path = "/metrics", .handler = [answers](const HttpRequest&) {
             return HttpReply{.type = "text/plain; version=0.0.4; charset=utf-8", .body = answers().metrics()};
           }}};
}

}  // namespace bloomwall::proxy
