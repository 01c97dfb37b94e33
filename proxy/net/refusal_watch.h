// Watches how an intercepted TLS connection of a client ends before its first request: a client that does not trust our
// authority says so by an alert, or only by leaving (tls_refusals.h). Results: WorkerState::refusals, counters, and a
// log line for devices without the authority.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "proxy/access/tls_refusals.h"

namespace bloomwall::proxy {

class TlsSession;
struct ClientInfo;
struct WorkerState;

class RefusalWatch {
 public:
  // Of the client's TLS for `host`; both outlive it.
  RefusalWatch(WorkerState& worker, const ClientInfo& client) : worker_(worker), client_(client) {}
  void on_established() { established_at_ = TlsRefusals::Clock::now(); }
  void on_request();                                  // the first, and the watch is over
  void on_end(const TlsSession* tls, bool is_by_us);  // likewise

 private:
  const std::string& host() const;

  WorkerState& worker_;
  const ClientInfo& client_;
  std::optional<TlsRefusals::Time> established_at_;
};

}  // namespace bloomwall::proxy
