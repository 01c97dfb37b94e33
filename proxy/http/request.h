// One parsed request head: what the client wants, as views into the reader's head buffer. No ownership but the field
// list. Everything in it has passed the checks listed in http1_reader.h, so later stages need no checks of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/http/fields.h"
#include "proxy/http/http_error.h"

namespace bloomwall::proxy {

// Methods the proxy treats in a way of their own; every other token is `other` and forwarded as it came.
enum class Method : std::uint8_t { get, head, post, put, delete_resource, connect, options, trace, patch, other };
Method method_of(std::string_view token);  // case-sensitive, as methods are
bool is_idempotent(Method method);         // RFC 9110 section 9.2.2; `other` is not

// http2: of a request that came by HTTP/2, though its head is one of HTTP/1.1 (proxy/http2/http2_fields.h).
enum class Version : std::uint8_t { http10, http11, http2 };
enum class TargetForm : std::uint8_t { origin, absolute, authority, asterisk };
enum class BodyFraming : std::uint8_t { none, length, chunked, until_close };  // until_close: responses only

// The scheme that a request is judged, forwarded and logged under: http in the clear, https inside intercepted TLS.
enum class Scheme : std::uint8_t { http, https };
constexpr std::string_view name_of(Scheme scheme) { return scheme == Scheme::https ? "https" : "http"; }
constexpr std::string_view prefix_of(Scheme scheme) { return scheme == Scheme::https ? "https://" : "http://"; }
inline constexpr std::uint16_t kHttpPort = 80, kHttpsPort = 443;
constexpr std::uint16_t default_port(Scheme scheme) { return scheme == Scheme::https ? kHttpsPort : kHttpPort; }
// What a URL and its Host field say of a port: nothing (0) where it is the default one.
constexpr std::uint16_t port_in_url(Scheme scheme, std::uint16_t port) {
  return port == default_port(scheme) ? std::uint16_t{0} : port;
}

struct Authority {
  std::string_view host = {};  // as spelt; brackets kept around an IPv6 literal; never empty
  std::uint16_t port = 0;      // 0: none given, or an empty one
};
// "host:port" of a CONNECT: both present, port 1..65535 in digits alone, no userinfo.
tl::expected<Authority, HttpError> parse_connect_authority(std::string_view text);
// uri-host [ ":" port ] as in Host or in a URL, no userinfo; the port may be absent or empty.
tl::expected<Authority, HttpError> parse_authority(std::string_view text);

struct Target {
  TargetForm form = TargetForm::origin;
  std::string_view raw =
      {};  // as it came; no control octet, space, '\\' or '#'; octets above 0x7f in path, query and userinfo alone
  std::string_view scheme = {};          // absolute form: as spelt
  Authority authority = {};              // absolute and authority form; userinfo is dropped
  std::string_view path_and_query = {};  // absolute form: may be empty or begin with '?'; origin form: begins with '/'
};
tl::expected<Target, HttpError> parse_target(Method method, std::string_view raw);

struct RequestHead {
  Method method = Method::get;
  std::string_view method_name = {};
  Version version = Version::http11;
  Target target;
  std::optional<Authority> host = {};  // the Host field; absent in HTTP/1.0 or where it is empty
  BodyFraming framing = BodyFraming::none;
  std::uint64_t content_length = 0;                // framing length; never 0 there
  bool has_content_length = false;                 // also for "Content-Length: 0", which must be forwarded
  bool keep_alive = true;                          // the client's wish, Connection and Proxy-Connection considered
  bool expect_continue = false;                    // HTTP/1.1 and "Expect: 100-continue"
  std::string_view upgrade = {};                   // the one protocol that a well-formed request to switch names
  bool wants_upgrade = false;                      // there is such a one; only WebSocket is
  bool takes_trailers = false;                     // TE: trailers
  std::optional<std::uint32_t> max_forwards = {};  // TRACE and OPTIONS only; larger numbers are cut to 2^32-1
  std::vector<Field> fields = {};                  // in the order received
  std::size_t bytes = 0;                           // of the head, request line and empty line included; for the log
};

// Turns the complete octets of a request head into a RequestHead, or into the error to answer. Used by
// http1_reader.h. Checks and their statuses: the list in http1_reader.h.

// Whether the first octets, as far as they have come, can begin a request line.
bool may_start_request(std::string_view text);

// `text`: from the request line to the empty line, line ends checked. Control octets but NUL become blanks in it, in
// values that say nothing of the connection, the host or the framing. `head` is overwritten; its views point into
// `text`.
std::optional<HttpError> parse_request_head(std::string& text, std::size_t most_fields, RequestHead& head);

}  // namespace bloomwall::proxy
