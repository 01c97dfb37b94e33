// GET /api/v1/tls/refused on the control socket: which clients refuse the certificates of tls_inspection, for which
// hosts, and how. Both sides are here: the route, and the client of `bloomwall tls refused`.
//   {"items":[{"client":"10.0.0.5","host":"bank.example","how":"pins","signal":"alert",
//              "since":"2026-11-23T12:00:00Z"}],"next":null}
//   how     pins: the client accepts them for other hosts; no_ca: it has accepted none for a day
//   signal  the last one: alert, eof or silent, as in bloomwall_tls_client_refusals_total
// Pairs that are refused now (auto_pass.after signals within a minute; kept for auto_pass.for, at most 4,096 a worker),
// sorted by client and host, each once whichever workers have seen it. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "proxy/access/tls_refusals.h"
#include "proxy/api/http_routes.h"
#include "proxy/api/served.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class TlsApi {
 public:
  using Rows = std::vector<TlsRefusals::Row>;
  TlsApi(EventLoop& loop, const Served& served) : loop_(loop), served_(served) {}

  HttpRoute route();  // of this object, which must outlive it

 private:
  HttpReply refused(const HttpStream& asker);

  EventLoop& loop_;
  const Served& served_;
};

// The body of the answer. `rows` with times of TlsRefusals::Clock, of which `now` is the moment that `wall` is, too.
std::string refusals_json(TlsApi::Rows rows, TlsRefusals::Time now, std::chrono::system_clock::time_point wall);

}  // namespace bloomwall::proxy
