// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/request_log.h"

namespace bloomwall::proxy {

void note_verdict(AccessRecord& record, const filter::Verdict& verdict, const DecisionId& id) {
  record.decision = verdict.decision;
  record.reason = verdict.reason;
  if (verdict.filter != nullptr) record.filter = verdict.filter->name;
  record.expression = verdict.expression;
  record.decision_id = id.text();
}

void write_record(WorkerState& state, const AccessRecord& record, const Snapshot& snapshot) {
  if (!state.log.enabled()) return;
  const conf::AccessLog& settings = snapshot.settings.log.access;
  state.text.clear();
  append_line(state.text, record, {.format = settings.format, .strip_query = settings.strip_query});
  state.log.write(state.text);
}

}  // namespace bloomwall::proxy
