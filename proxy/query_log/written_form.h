// What may be written of a request, and of the client and user behind it: by reports of mistakes with their tickets, in
// state.db, its audit and reports.webhook, and by the daemon's own log. The one place that turns these settings into
// texts; rows of the query log, live requests and figures have them from LogRules and ClientMask, too:
//   query_log.clients                             client and user as ClientMask has them; a network is "10.2.0.0/24"
//   groups[].log: counted; query_log.exclude      neither client nor user
//   query_log.queries: strip,                     URL and entry without what follows '?'; either setting is enough:
//     log.access.strip_query: true                a report is read beside both logs
// The daemon's log names no host of query_log.exclude. A report names it: who sends it wants it to be read. log.access
// goes by its own key alone, and what people with rights decide (exceptions, switches) is written as they said it.
// Threads: any.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "proxy/query_log/client_mask.h"
#include "proxy/query_log/log_rules.h"
#include "proxy/telemetry/access_record.h"

namespace bloomwall::proxy {

// Empty: nothing may be said, or there was nothing.
struct WrittenForm {
  std::string client, user, url, expression;
};
// Of `record` its client, user, url, expression, group, host, sni, start and what says whether it was judged are read.
WrittenForm written_form(const AccessRecord& record, const LogRules& rules, const ClientMask& mask);

// As who and what stand in a line of the daemon's log: "a client" and "a host" where they may not be named.
std::string client_in_line(const AccessRecord& record, const LogRules& rules, const ClientMask& mask);
// `host`: with or without a port.
std::string host_in_line(std::string_view host, const LogRules& rules);

}  // namespace bloomwall::proxy
