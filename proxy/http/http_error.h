// Why the proxy answers a request itself: one stable enumerator a cause, with status and Proxy-Status error type.
// The table is in http_error.cc; the answer's bytes come from replies.h, what a person reads from page_texts.txt.
// Source of the error types: RFC 9209 section 2.3.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomwall::proxy {

enum class ErrorKind : std::uint8_t {
  bad_request,              // 400 the message breaks the grammar or its framing is ambiguous
  bad_target,               // 400 the target is no URL that could be judged
  ambiguous_path,           // 400 access.strict_path and a path that origins read in several ways
  client_denied,            // 403 access.clients
  port_denied,              // 403 access.connect_ports
  destination_denied,       // 403 access.deny_destinations
  tunnel_denied,            // 403 access.opaque_tunnels, no_sni, sni_mismatch; never said, as the tunnel stands by then
  method_not_allowed,       // 405 with Allow
  request_timeout,          // 408 the head or the body came too slowly
  client_gone,              // 400 it reset its connection, or ended it in the middle of its request; never said
  client_stalled,           // 408 it does not take its answer; never said, as it would not be read
  body_too_large,           // 413
  uri_too_long,             // 414
  misdirected,              // 421 a request for this proxy itself, or origin-form where no Host can route it
  login_required,           // 407 with Proxy-Authenticate: no credentials, or wrong ones
  login_locked,             // 429 too many credentials were refused
  login_unchecked,          // 503 no room, or no time, to check the credentials
  too_many_requests,        // 429
  head_too_large,           // 431
  internal,                 // 500
  not_implemented,          // 501 transfer coding or scheme that is not spoken here
  dns_error,                // 502 the name does not exist or the resolver failed
  dns_timeout,              // 504
  connection_refused,       // 502
  connection_failed,        // 502 unreachable, reset while connecting
  connect_timeout,          // 504
  connection_terminated,    // 502 closed before a whole head
  upstream_protocol,        // 502 the response breaks the grammar
  upstream_head_too_large,  // 502
  response_incomplete,      // 502 closed in the middle of a response body
  upstream_timeout,         // 504 no response head in time
  connection_limit,         // 503 the proxy has no room for more
  shutting_down,            // 503
  filter_late,              // 503 pages of a filter did not come from the disk in time
  dns_limit,                // 503 no room to ask for another name
  loop,                     // 502 Via already names this proxy, or the target is itself
  parent_tls,               // 502 the TLS handshake with the parent failed, or its certificate is not valid
  parent_certificate,       // 502 the parent proxy's certificate is not one that can be believed
  parent_refused,           // 502 the parent proxy answered something else than a tunnel
  parent_auth,              // 502 the parent proxy does not take our credentials, or wants some
  origin_certificate,       // 502 inside TLS: the origin's certificate is not valid for its name
  origin_tls,               // 502 inside TLS: no handshake with the origin by our rules
  origin_alert,             // 502 inside TLS: the origin ended the handshake with an alert
  origin_tls_timeout,       // 504 inside TLS: timeouts.tls_handshake
  origin_refused,           // 502 HTTP/2: it has processed nothing; never said, as the client may just send it again
  version_unsupported,      // 505
  http2_preface,            // 505 HTTP/2 without TLS: the client begins as RFC 9113 section 3.4 says
};
inline constexpr std::size_t kErrorKinds = 47;  // checked where the table stands

struct HttpError {
  ErrorKind kind = ErrorKind::internal;
  std::string_view detail =
      {};  // a literal: for the log, Proxy-Status details and the page; never text from the network
};

constexpr HttpError bad_request(std::string_view detail) { return {ErrorKind::bad_request, detail}; }
constexpr HttpError bad_response(std::string_view detail) { return {ErrorKind::upstream_protocol, detail}; }

struct ErrorFacts {
  int status;
  std::string_view proxy_error = {};  // "http_request_error"
  bool must_close;                    // what follows on the client connection cannot be trusted
};
const ErrorFacts& facts(ErrorKind kind);
const char* to_string(ErrorKind kind);  // "bad_request": for logs and metric labels
// Whether the proxy itself refused the request, by its rules or for lack of resources or of a verdict in time (503), as
// opposed to an upstream failure.
bool is_refusal(ErrorKind kind);
std::string_view reason_phrase(int status);  // of every status the proxy itself sends

}  // namespace bloomwall::proxy
