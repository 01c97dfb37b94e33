// The routes of the running proxy that operators read (http_routes.h):
//   GET /healthz  200 while the main loop runs
//   GET /readyz   200 while it serves with its filters loaded; 503 while it starts, announces its end or drains, and
//                 while a filter is lost that blocks everything by its on_error
//   GET /metrics  Prometheus text exposition, version 0.0.4
//   GET /ca, /ca.crt, /ca.der, /ca.mobileconfig  the certificate of tls_inspection's authority, as on every listener;
//                 404 while nothing is decrypted
// Health checks are also answered without Host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proxy/api/http_routes.h"
#include "proxy/api/served.h"

namespace bloomwall::proxy {

class TlsInspection;

struct AdminAnswers {
  Phase phase = Phase::starting;
  std::string lost = {};                      // names of filters that are lost and so block everything
  std::function<std::string()> metrics;       // only called for /metrics
  const TlsInspection* inspection = nullptr;  // of now; nullptr: the mode is off
};

// `answers` is called once for each request.
std::vector<HttpRoute> admin_routes(const std::function<AdminAnswers()>& answers);

}  // namespace bloomwall::proxy
