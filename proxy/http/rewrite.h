// Serialises forwarded messages: the request head for an origin or parent, the response head for a client, chunk frames
// and trailers. Everything is written from parsed fields, never copied as a block; each call appends one
// contiguous head to `out`, so that head and first body octets leave in one writev.
//
// Removed in both directions: every field a Connection option nominates, Connection, Keep-Alive, Proxy-Connection, TE,
// HTTP2-Settings, Trailer where no trailers can follow, Upgrade unless it is forwarded, Proxy-* meant for this hop.
// Content-Length, Transfer-Encoding, Host and Via cannot be nominated away: they are made here from parsed framing and
// target.
// Cost: linear in the head, no allocation once `out` has its working size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "conf/config.h"
#include "proxy/http/request.h"
#include "proxy/http/response.h"

namespace bloomwall::proxy {

struct RequestRewrite {
  std::string_view host = {};            // canonical, as judged and dialled; IPv6 in brackets
  std::uint16_t port = 0;                // written to Host where not 0: as the target gave it
  std::string_view via_name = {};        // empty: no Via
  std::string_view client_address = {};  // for X-Forwarded-For; IPv6 without brackets
  conf::Headers::ForwardedFor forwarded_for = conf::Headers::ForwardedFor::off;
  bool to_parent = false;                      // absolute form, Proxy-Authorization kept unless:
  bool drop_credentials = false;               // Proxy-Authorization was for this proxy
  std::string_view parent_authorization = {};  // to_parent: this Proxy-Authorization value instead of the client's
  bool forward_upgrade = false;                // head.wants_upgrade and the caller can tunnel after 101
  bool close = false;                          // send Connection: close
};
// The head must not be CONNECT. Max-Forwards of TRACE and OPTIONS is decremented (0 never comes here: see
// target_check.h).
void write_request_head(std::string& out, const RequestHead& head, const RequestRewrite& how);
// CONNECT to a parent proxy.
void write_connect_head(std::string& out, const RequestRewrite& how);

struct ResponseRewrite {
  Method method = Method::get;  // of the request
  Version client = Version::http11;
  bool keep_alive = true;          // the client's wish and the proxy's: the connection stays if framing allows it
  std::string_view via_name = {};  // empty: no Via
  std::string_view date = {};      // the current IMF-fixdate, used where the origin sent none
  bool from_parent = false;        // keep Proxy-Authenticate
  bool takes_trailers = false;     // the client said TE: trailers
  // A body that ends with its connection stays one, instead of becoming chunked: the client must see how the origin
  // ended it, which inside TLS says whether it is whole.
  bool keeps_until_close = false;
  // For clients of transparent listeners: drops Alt-Svc, which would lead them past the proxy, to a port and a protocol
  // that the firewall does not redirect.
  bool hide_alternatives = false;
  // For intercepted clients: drops Public-Key-Pins, which our certificates do not match; tells them to forget what
  // Alt-Svc has taught them before.
  bool hide_pins = false;
  // The answer asks for a login that counts for the connection, and the proxy keeps connections together for it:
  // Proxy-Support (RFC 4559 section 6). What others say there is removed, since it is said to the next hop.
  bool supports_sessions = false;
  bool clear_alternatives = false;
};
ResponsePlan plan_response(const ResponseHead& head, const ResponseRewrite& how);  // what write_response_head will do
ResponsePlan write_response_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how);
// A 1xx other than 101; never to HTTP/1.0 clients (writes nothing there).
void write_interim_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how);
// The 101 of an upgrade that was forwarded.
void write_switch_head(std::string& out, const ResponseHead& head, const ResponseRewrite& how);
// "HTTP/1.x 200 Connection established" without any length field.
void write_connect_established(std::string& out, std::string_view via_name);

// One chunk on the wire: chunk_head(n), n octets, kChunkTail. n > 0.
using ChunkHead = std::array<char, 18>;  // 16 hex digits and CRLF
std::string_view chunk_head(std::uint64_t octets, ChunkHead& buffer);
inline constexpr std::string_view kChunkTail = "\r\n";
bool may_trail(const Field& field);  // unless `head` below forbids it
// The last chunk with those trailer fields that may be relayed: none about framing, routing, authentication,
// hop-by-hop, and none that a Connection option in `head`, the fields of the same message's head, nominates.
void write_last_chunk(std::string& out, std::span<const Field> trailers, std::span<const Field> head);

}  // namespace bloomwall::proxy
