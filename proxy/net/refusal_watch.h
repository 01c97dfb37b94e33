// Watches how an intercepted TLS connection of a client ends before its first request: a client that does not trust our
// authority says so by an alert, or only by leaving (tls_refusals.h). Results: WorkerState::refusals, counters, the
// access log's line of the CONNECT, and a warning of devices without the authority.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/access/tls_refusals.h"
#include "proxy/net/tunnel_log.h"

namespace bloomwall::proxy {

class TlsSession;
struct ClientInfo;
struct WorkerState;

class RefusalWatch {
 public:
  // Of the client's TLS, which begins now; both outlive it. `log`: of its CONNECT, which ends with the watch.
  RefusalWatch(WorkerState& worker, const ClientInfo& client, InterceptionLogPtr log)
      : worker_(worker), client_(client), log_(std::move(log)) {}
  void on_established(const TlsSession& tls);
  void on_request(const TlsSession* tls);             // the first, and the watch is over
  void on_end(const TlsSession* tls, bool is_by_us);  // likewise

 private:
  const std::string& host() const;
  std::string_view why(const TlsSession* tls, bool is_by_us) const;

  WorkerState& worker_;
  const ClientInfo& client_;
  InterceptionLogPtr log_;
  const TlsRefusals::Time begun_at_ = TlsRefusals::Clock::now();
  std::optional<TlsRefusals::Time> established_at_;
};

}  // namespace bloomwall::proxy
