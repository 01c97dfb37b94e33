// Turns a finished exchange or tunnel into one line of the access log.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "proxy/http/access_record.h"
#include "proxy/net/worker_state.h"

namespace bloomwall::proxy {

// Verdict, filter name, expression and decision id.
void note_verdict(AccessRecord& record, const filter::Verdict& verdict, const DecisionId& id);
// Writes the line, as the snapshot's settings spell it, unless the log is off.
void write_record(WorkerState& state, const AccessRecord& record, const Snapshot& snapshot);

}  // namespace bloomwall::proxy
