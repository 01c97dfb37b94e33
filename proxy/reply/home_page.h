// The self host's first page: what was blocked for the asker in the last minutes, each with a form that reports it as a
// mistake; links to what else the proxy says of itself. HTML, JSON or text as Accept prefers; without script. The JSON:
//   {"user":"anna","client":"192.0.2.7","recent":[{"time":"...","url":"...","host":"...","filter":"...",
//    "category":"...","group":"...","reason":"...","until":"...","schedule":"...","expression":"...",
//    "decision_id":"...","count":1}]}
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proxy/reply/replies.h"
#include "proxy/reply/report_ticket.h"

namespace bloomwall::proxy {

struct RecentDenial {
  ReportFacts facts;  // the decision is the newest one
  TimePoint at;       // likewise
  std::uint32_t count = 1;
  bool is_connection = false;  // CONNECT, or a tunnel: of the host alone
  filter::VerdictReason reason = filter::VerdictReason::listed;
  std::string category = {};  // of the filter; empty: none
  BlockEnd end = {};          // until when it is blocked
};

struct HomePage {
  bool is_shown = true;                   // self_page.recent
  std::string_view user = {};             // whose denials they are; empty: those of the address
  std::string_view client = {};           // the address
  bool may_log_in = false;                // what is blocked for users of this address is shown to them alone
  std::vector<RecentDenial> recent = {};  // newest first
  std::vector<std::string> tickets = {};  // of each, with which it is reported; empty: nothing can be
  ReportFormReply report = {};            // where it is sent to; its ticket is not used
  bool has_authority = false;             // there is a page /ca
};
void write_home_page(std::string& out, const HomePage& page, const ReplyContext& context);

}  // namespace bloomwall::proxy
