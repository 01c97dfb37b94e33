// One line of the access log: what happened, as a struct, and its three spellings.
//   json      one object; its members are listed below
//   combined  host - user [time] "method url HTTP/1.1" status bytes "referer" "agent" tag:hierarchy
//   squid     seconds.millis duration client tag/status bytes method url user hierarchy/peer type
// Where there is something to look up, combined and squid lines have two words more, behind what their readers know:
// "filter:NAME" or "error:KIND", and the decision id; "-" for one that is missing.
// Nothing the network sent can end a line, forge a field or reach a terminal: control octets, quotes, backslashes and
// non-ASCII are escaped (%XX or \xXX, \u00XX in json), lengths are bounded: a text that was cut is marked, in json by a
// member behind it ("url_cut":true), a URL in the other two by "..." at its end. Formatting appends to a string, no
// clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "conf/config.h"
#include "filter/policy/policy.h"
#include "proxy/http/serialise.h"

namespace bloomwall::proxy {

// Views need live only until append_line returns.
struct AccessRecord {
  TimePoint start = {};
  std::chrono::microseconds duration{0};         // of the whole exchange or tunnel
  std::chrono::microseconds dns{0}, connect{0};  // 0: none was needed
  std::string_view client = {};                  // address without port
  std::uint16_t client_port = 0;
  std::string_view user = {};      // who has logged in; empty: nobody
  std::string_view listener = {};  // "127.0.0.1:3128"
  std::string_view method = {};    // empty where no head was understood
  std::string_view url = {};       // absolute URL, or host:port of a CONNECT
  std::string_view host = {};      // canonical; empty where none was found
  std::string_view sni = {};
  std::string_view dialled_as = {};  // what safe search dialled instead; empty: the host
  bool http10 = false, http2 = false;
  int status = 0;                    // sent to the client; 0: closed without an answer
  std::uint64_t bytes_sent = 0;      // to the client
  std::uint64_t bytes_received = 0;  // from the client
  std::string_view content_type = {}, referer = {}, user_agent = {};
  std::string_view peer = {};  // endpoint dialled, "198.51.100.9:80"; empty: none
  bool peer_is_parent = false;
  bool tunnel = false;
  bool inside = false;                                // a request that came through a tunnel
  bool intercepted = false;                           // likewise, in TLS that the proxy ended
  std::string_view tls_action = {}, tls_reason = {};  // of a tunnel, as in bloomwall_tls_decisions_total; empty: none
  // Of intercepted TLS: versions ("1.3"), whether sessions were resumed, the fatal alerts that came (0: none), and why
  // there is no connection with the origin, or with the client; a literal.
  std::string_view tls_client = {}, tls_origin = {};
  bool tls_client_resumed = false, tls_origin_resumed = false;
  std::uint8_t tls_client_alert = 0, tls_origin_alert = 0;
  std::string_view tls_error = {};
  bool reused = false;   // a pooled origin connection
  bool refused = false;  // by the proxy's own rules, limits or grammar, or with 503: `error` says which
  filter::Decision decision = filter::Decision::allowed;
  filter::VerdictReason reason = filter::VerdictReason::unlisted;
  std::string_view filter = {};  // name; empty: none
  std::string_view group = {};   // of the client; empty: there are none
  std::string_view expression = {};
  std::string_view asked_as = {};     // to_string(NameOf) of what met it; empty: the request's own host, or nothing did
  char expression_kind = '\0';        // filter::Kind; means nothing without an expression
  std::uint64_t exception = 0;        // that decided (`bloomwall exceptions`); 0: none
  std::string_view decision_id = {};  // empty: none
  std::string_view tunnel_id = {};    // of a tunnel with requests inside, and of each of these; empty: none
  std::string_view trace_id = {};     // trace_id_of() what the client sent; empty: none
  std::string_view error = {};        // to_string(ErrorKind) where the proxy answered an error itself
  std::string_view detail = {};       // why, a literal
};

// A filter, an exception, a rule or a limit was against it.
bool was_stopped(const AccessRecord& record);

struct LogStyle {
  conf::AccessLog::Format format = conf::AccessLog::Format::json;
  bool strip_query = false;
  std::size_t most = 0;  // octets of the line: its texts are cut until it is as short; 0: as long as it is
};
// Appends the line with its '\n'.
//
// The members of a json line, in their order. Empty texts are left out, and so are flags (true where ...) that are
// false. docs/make_tables.py copies this list to docs/operations.md, and finds what is missing in it.
//   start_time             when it began, in UTC
//   id                     of every request that was blocked, monitored or refused or has an `error`: the "decision"
//                          that the page, the text and `Proxy-Status` show; also of a tunnel with requests inside
//   in                     of a request inside a tunnel: the `id` of that tunnel's line
//   trace_id               the id of the trace that the client's field `traceparent` names (W3C Trace Context); the
//                          field itself passes
//   inbound_remote_addr    the client, with its port
//   user                   who has logged in (`authentication`), of a request or of the tunnel around it
//   listener               where the client came in
//   proxy_type             `http`, `connect`, `http_in_tunnel` or `https_in_tunnel`
//   http2                  true where the request came by HTTP/2
//   method                 of the request
//   url                    of the request; of a CONNECT host and port
//   requested_host         the canonical host that was judged
//   sni                    the name in the ClientHello
//   tls_action             with `tls_inspection`, of tunnels: `tunnelled`, `intercepted`, `page` or `refused`
//   tls_reason             why, as in `bloomwall_tls_decisions_total`
//   tls_client             of a CONNECT whose TLS is intercepted, whose line is written with its first request, or at
//                          its end: the version with the client
//   tls_origin             likewise, with the origin
//   tls_client_resumed     likewise, true where the session with the client was resumed
//   tls_origin_resumed     likewise, of the session with the origin
//   tls_client_alert       likewise, the number of a fatal alert that came from the client
//   tls_origin_alert       likewise, from the origin
//   tls_error              likewise, why there is no connection with the origin (`expired`, `wrong_name`, ...) or
//                          with the client
//   status                 of the answer to the client; 0: closed without one
//   allow                  whether it was let through
//   decision               `allowed`; `monitored`; `blocked` by a filter; `rejected`: not a URL that can be judged;
//                          `refused` by the access rules, by a limit, for its grammar, or for lack of room or of a
//                          verdict in time (503), also inside an open tunnel
//   decision_reason        of a filter `listed`, `confirmed`, `delta`, `filter_lost`; of a `bloomwall deny` `denied`;
//                          of what is on no white list `default_deny`; of what passes `unlisted`, `excepted` (by
//                          `bloomwall allow`), `allow_list`, `allow_filter` (a filter with `action: allow`),
//                          `exception` (the filter's file knows the URL to be good), `refuted`; `bad_url`; of what
//                          was refused the name of the error
//   enforce_would_deny     true where the decision is `monitored`
//   group                  the group that the client is in, where there are groups
//   filter                 which filter decided
//   expression             the entry that matched
//   asked_as               which name of the request met it, where that is not the host of its own URL: `connect`
//                          (what CONNECT named), `server_name` (the SNI), `address` (where the client of a
//                          transparent listener went)
//   exception_id           the number of the exception that decided (`bloomwall exceptions`)
//   exception              the same number under its old name, which ends with 0.2; the reason `exception` is about
//                          something else
//   dialled_as             the name that `safe_search` dialled instead of the host
//   outbound_remote_addr   the address dialled, with its port
//   reused                 true where that connection was a pooled one
//   bytes_sent             to the client
//   bytes_received         from the client
//   duration_ms            milliseconds of the whole exchange or tunnel
//   dns_lookup_time_ms     of the lookup of the name, where there was one
//   conn_establish_time_ms of connecting, where that was needed
//   content_type           of the answer
//   referer                of the request
//   user_agent             of the request
//   error                  why the proxy answered by itself, or cut the connection: `port_denied`,
//                          `destination_denied`, `dns_error`, ...
//   error_detail           more about that
void append_line(std::string& out, const AccessRecord& record, const LogStyle& style);

}  // namespace bloomwall::proxy
