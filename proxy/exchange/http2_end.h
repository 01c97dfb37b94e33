// What is counted and logged of an HTTP/2 connection that has ended before its time. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "proxy/decision/worker_state.h"
#include "proxy/http2/http2_connection.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {

// `side`: "client" or "origin"; `peer`: its address, or its name.
inline void note_http2_end(WorkerState& worker, const Http2Connection& connection, std::string_view side,
                           std::string_view peer) {
  if (connection.flood() != FrameBudget::Verdict::fine) worker.counters.http2_floods_total.add();
  if (connection.why() == nullptr) return;
  worker.counters.http2_errors_total.add();
  log::debug("HTTP/2 with the {} {} has ended: {}", side, peer, connection.why());
}

}  // namespace bloomwall::proxy
