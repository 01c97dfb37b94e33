// The pages that answer a reporter of a mistake: the report was taken, its outcome, or why it was not
// taken. HTML, JSON or text as Accept prefers; without script, like the block page. The JSON:
//   {"report":12,"state":"open","title":"...","message":"...","words":"...","link":"http://HOST/report/12-TAG"}
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bloomwall::proxy {

struct ReplyContext;  // proxy/reply/replies.h

struct ReportPage {
  enum class Says : std::uint8_t {
    nothing,   // 200: the self host's own page
    taken,     // 201: it was taken
    open,      // 200: not decided yet; the next four are also 200
    accepted,  // it is open, until `until`
    ended,     // it was open: its exception has ended, or was removed
    rejected,
    cured,
    no_page,      // 404: the proxy has no page there
    unknown,      // 404: no such report
    not_a_form,   // 400: the body is none that the form sends
    other_type,   // 415: nor does it say that it is one
    refused,      // 403: the ticket was not made here, or not for this client
    late,         // 403: it is older than a day
    often,        // 429: too many reports of this client, or of all
    full,         // 503: too many are open
    unavailable,  // 503: the state cannot be written, or not now
    wrong_method  // 405
  };
  Says says = Says::nothing;
  std::uint64_t report = 0;    // 0: none
  std::uint32_t reporter = 0;  // Reporter::number
  std::string link = {};       // of its page; empty: none
  std::string words = {};      // of the reviewer
  std::string until = {};      // accepted: when it ends, as a person reads it; empty: it does not
  std::uint32_t again_in = 0;  // often: seconds
  bool takes_forms = false;    // wrong_method: POST is one that it takes
};
int status_of(ReportPage::Says says);
void write_report_page(std::string& out, const ReportPage& page, const ReplyContext& context);

}  // namespace bloomwall::proxy
