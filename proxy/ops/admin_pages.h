// What the admin address answers: a request head in, the bytes of a whole response out. No sockets, no clock.
//   /healthz  200 while the process turns
//   /readyz   200 while it serves with its filters loaded; 503 while starting, announcing its end, or draining, and while a
//             filter that blocks everything by its on_error is lost
//   /metrics  Prometheus text exposition, version 0.0.4
// GET and HEAD only (405). A Host that is no IP address, no "localhost" and not in admin.hosts is refused (421): else a web
// page could rename its own host to this address and read the answers. A health check need not name a host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/http/http_date.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

enum class Phase : std::uint8_t { starting, serving, draining };
std::string_view to_string(Phase phase);

struct AdminAnswers {
  Phase phase = Phase::starting;
  std::string lost = {};                 // names of filters that are lost and so block everything
  std::vector<std::string> hosts;        // admin.hosts, lower case
  std::function<std::string()> metrics;  // only called for /metrics
};

// Appends the response to `out`. It always closes.
void answer_admin(std::string& out, const RequestHead& head, const AdminAnswers& answers, TimePoint now);
// For what is no request at all.
void refuse_admin(std::string& out, const HttpError& error, TimePoint now);

// "[::1]" and "192.0.2.1" and "localhost" and the names in `hosts`; case does not count.
bool is_admin_host(std::string_view host, const std::vector<std::string>& hosts);

}  // namespace bloomwall::proxy
