// Local replies, made by the proxy itself: the answer to a blocked request, and every error. Each call appends one
// complete response (head and body) to `out`. Every one carries Date, Cache-Control: no-store, Proxy-Status (RFC 9209)
// and exact framing. HTML, JSON or text as Accept prefers (accept.h); pages in the language that Accept-Language
// prefers (page_texts.h), JSON and text in English. The reason phrase gives the reason, since many
// clients show nothing else: "403 Blocked by filter ads, decision 7Q...". HEAD gets only the head. Nothing from the
// network reaches a header field or markup unescaped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time_zone.h"
#include "filter/policy/verdict.h"
#include "proxy/http/block_end.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"
#include "proxy/http/serialise.h"
#include "proxy/reply/accept.h"
#include "proxy/reply/block_template.h"
#include "proxy/reply/decision_id.h"
#include "proxy/reply/page_texts.h"
#include "proxy/reply/parent_refusal.h"

namespace bloomwall::conf {
struct BlockPage;
}

namespace bloomwall::proxy {

struct ReplyContext {
  std::string_view proxy_name = "bloomwall";  // a token: first member of Proxy-Status
  TimePoint now = {};
  Method method = Method::get;  // HEAD: no body; CONNECT: a body of one line
  Version client = Version::http11;
  bool close = false;            // the connection closes after it (else keep-alive is said to 1.0 clients)
  std::string_view accept = {};  // value of the Accept field(s); empty: none
  std::string_view accept_language = {};
  std::string_view decision_id = {};      // empty: none
  std::string_view challenge = {};        // status 407: fields Proxy-Authenticate, each with CRLF
  std::uint32_t locked_for = 0;           // login_locked: seconds, for Retry-After
  std::string_view contact = {};          // 407 and login_locked: whom to ask; or empty
  TimeZone zone = {};                     // of times for people
  std::string_view host = {};             // of the request, which pages of errors name; empty: not known
  const ParentRefusal* parent = nullptr;  // parent_refused: what it answered; nullptr: nothing that is passed on
};

void write_error(std::string& out, const HttpError& error, const ReplyContext& context);

// The form with which a mistake can be reported (report_form.h). Of the HTML page alone; empty: there is none.
struct ReportFormReply {
  std::string_view action = {};       // where it is sent to
  std::string_view form_action = {};  // the same for form-action of the Content-Security-Policy
  std::string_view ticket = {};
};
struct BlockReply {
  const filter::Verdict* verdict = nullptr;  // a blocked one
  std::string_view url = {};                 // as judged: absolute URL, or host:port of a CONNECT
  std::string_view reported_url = {};        // what of url a report may hold; empty: all of it
  std::string_view host = {};
  const conf::BlockPage* page = nullptr;
  std::string_view group = {};  // the client's; empty: there are none
  const BlockTemplate* html = nullptr;
  std::string_view legal_link = {};  // status 451: Link rel="blocked-by"; empty: none
  ReportFormReply report = {};
  BlockEnd end = {};  // until when it is blocked
};
// 403, or 451 where the filter says so.
void write_block_reply(std::string& out, const BlockReply& block, const ReplyContext& context);
// Sentences for a person: "Its address is on this filter's list." `end`: of what is blocked by nothing but the time.
std::string_view reason_sentence(filter::VerdictReason reason, Language language, const BlockEnd& end = {});
// "This page is blocked until 06:30 (bedtime)", for who reads it at `now`; of no known end "This page is blocked".
std::string block_title(const BlockEnd& end, Instant now, const TimeZone& zone, Language language);
// What a filter is called for people: "adult (hagezi-nsfw)"; its name alone where it has no category.
std::string filter_title(std::string_view name, std::string_view category);

// Max-Forwards: 0. TRACE: the request as received, without credentials and cookies (message/http); OPTIONS: 200 with
// Allow.
void write_trace_reply(std::string& out, const RequestHead& head, const ReplyContext& context);
void write_pass_reply(std::string& out, int status, const ReplyContext& context);  // 204 or 200, without a body
void write_options_reply(std::string& out, const ReplyContext& context);

// report_url with {id} and {url} replaced, both percent-encoded; empty where the template is no http(s) or mailto URL.
std::string report_link(std::string_view report_url, std::string_view decision_id, std::string_view url);

}  // namespace bloomwall::proxy
