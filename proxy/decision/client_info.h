// Identity of a client, as its requests and their log lines need it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proxy/access/name_of.h"
#include "proxy/access/tunnel_target.h"
#include "proxy/auth/user.h"
#include "proxy/decision/client_login.h"
#include "proxy/http/http_error.h"
#include "proxy/io/endpoint.h"
#include "proxy/reply/decision_id.h"
#include "proxy/tls/handles.h"

namespace bloomwall::proxy {

// Lives as long as its connection.
struct ClientInfo {
  Endpoint endpoint;
  std::string address;                         // without port, for logs and X-Forwarded-For
  const std::string* listener = nullptr;       // "127.0.0.1:3128"
  const std::string* listener_rule = nullptr;  // the same as configured: ListenerRules::address
  bool is_secure = false;                      // it speaks TLS to the proxy itself
  // Where it has connected to, of listeners on every address; else port 0, and the listener says it.
  Endpoint reached = {};
  struct Certificate {
    std::vector<std::string> names;  // GroupMember
    X509Ptr shown;
    X509StackPtr chain;  // as it was sent; nullptr: none
  };
  std::unique_ptr<const Certificate> certificate = nullptr;  // to the proxy itself; nullptr: it has shown none
  struct Destination {
    Endpoint endpoint;
    std::string address;  // without port
  };
  // It speaks HTTP/1 through a tunnel: what its CONNECT named (inside TLS: its ClientHello), which is judged again with
  // every request.
  struct Inside {
    std::string host;  // canonical
    std::uint16_t port = 0;
    std::uint64_t judged_by = 0;  // edition of the CONNECT's verdict
    bool to_parent = false;       // its far end is the parent, not the host
    Scheme scheme = Scheme::http;
    std::string authority = {};     // https: what CONNECT named, where the server name is another
    NameOf name = NameOf::connect;  // what `host` is
    bool has_marks = false;         // https: URL entries exist on the host
    bool hides_name = false;        // https: TlsDecision::hides_name
    bool has_no_origin = false;     // https: for a page of the proxy's alone, so that every request is answered here
    std::optional<HttpError> failure =
        {};                     // https: why there is no connection to the origin; the answer to each request
    UserPtr user = nullptr;     // of the CONNECT, and so of every request in it; nullptr: no login was required
    std::string dialled = {};   // TunnelStart::dialled
    DecisionId tunnel_id = {};  // TunnelStart::tunnel_id
    // What was dialled, or asked of the parent, for the CONNECT; on transparent listeners where nothing else was, its
    // address.
    std::string_view dialled_name() const { return !dialled.empty() ? dialled : !authority.empty() ? authority : host; }
    TunnelTarget target() const { return {host, port, scheme, name}; }
  };
  bool is_intercepted() const { return inside != nullptr && inside->scheme == Scheme::https; }
  std::unique_ptr<const Inside> inside = nullptr;
  // On a transparent listener: the original destination address, which is what is dialled; Host and SNI do not change
  // it.
  std::unique_ptr<const Destination> destination = nullptr;
  // What it has proved so far, which is not a part of who it is: never nullptr.
  std::unique_ptr<ClientLogin> login = std::make_unique<ClientLogin>();
};

}  // namespace bloomwall::proxy
