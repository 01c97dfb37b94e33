// The table of routes of the program's own HTTP server. Finds the route for the head of a request, or the reply that
// says why there is none:
//   421  Host is not an IP address, no "localhost" and not in `hosts`. Else a web page could point its own host name at
//        this address and read the answers (DNS rebinding). Not checked without `hosts`: no browser opens a unix
//        socket.
//   404  no route has this path; the body lists the paths
//   405  the path takes other methods, or no route at all takes this one; with Allow
//   413  the body is longer than the route takes
// A GET route answers HEAD too; both ignore a body. Below kApiRoot each of these is JSON, as all errors of the API are.
// No sockets, no clock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/http/request.h"
#include "proxy/http/serialise.h"
#include "proxy/io/endpoint.h"

namespace bloomwall::proxy {

struct HttpReply {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8";  // a literal
  std::string body = {};
  std::string more_fields = {};           // each with its CRLF
  bool goes_on = false;                   // the body is only the first piece: the rest goes to the request's HttpStream
  bool is_later = false;                  // all else means nothing: HttpStream::reply() will be called
  std::string_view caching = "no-store";  // of Cache-Control; a literal
};

// Handle to a client whose reply is streamed, or comes later. Copyable; after the client has gone its calls do nothing.
// Must not be used in the handler itself or after the server is destroyed. Thread: the loop's.
class HttpStream {
 public:
  class Sink {
   public:
    virtual void write(std::uint64_t id, std::string_view text) = 0;
    virtual void end(std::uint64_t id) = 0;
    virtual void reply(std::uint64_t id, const HttpReply& whole) = 0;
    virtual bool goes_on(std::uint64_t id) const = 0;

   protected:
    ~Sink() = default;
  };
  HttpStream(Sink& sink, std::uint64_t id) : sink_(&sink), id_(id) {}

  void write(std::string_view text) const { sink_->write(id_, text); }
  void end() const { sink_->end(id_); }
  bool goes_on() const { return sink_->goes_on(id_); }  // its client is there, and end() was not called
  // After HttpReply::is_later: the reply, whole. Once.
  void reply(const HttpReply& whole) const { sink_->reply(id_, whole); }
  friend bool operator==(const HttpStream&, const HttpStream&) = default;

 private:
  Sink* sink_;
  std::uint64_t id_;
};

// Who asks, as the kernel says.
struct HttpPeer {
  bool is_local = false;     // over the unix socket
  std::uint32_t user = ~0U;  // its user id there; ~0: not known
  Endpoint client = {};      // its address, else
  bool is_secure = false;    // it speaks TLS
};

struct HttpRequest {
  const RequestHead& head;
  const std::vector<std::string_view>& arguments;  // what stands for each {name} of the route's path, as it came
  std::string_view body;
  HttpStream stream;
  HttpPeer peer = {};
};

struct HttpRoute {
  std::string_view method;  // these two are literals; GET stands for HEAD as well
  std::string_view path;    // "/filters/{name}": a segment in braces stands for any one that is not empty
  std::function<HttpReply(const HttpRequest&)> handler;
  std::size_t most_body = 0;  // octets
  bool needs_host = true;     // false: health checks may ask without a Host
};

inline constexpr std::string_view kApiRoot = "/api/";

class HttpRoutes {
 public:
  struct Match {
    const HttpRoute* route;
    std::vector<std::string_view> arguments;  // parts of the target in the head
  };
  // `hosts`: host names that are accepted; nullopt: all.
  HttpRoutes(std::vector<HttpRoute> routes, std::optional<std::vector<std::string>> hosts);

  tl::expected<Match, HttpReply> find(const RequestHead& head) const;

 private:
  tl::expected<Match, HttpReply> look_up(const RequestHead& head) const;
  HttpReply no_route(std::string_view method, const std::vector<Match>& at_path) const;

  std::vector<HttpRoute> routes_;
  std::optional<std::vector<std::string>> hosts_;
};

// "[::1]" and "192.0.2.1" and "localhost" and the names in `hosts`; case-insensitive.
bool is_known_host(std::string_view host, const std::vector<std::string>& hosts);

// The reply to a malformed or late request; `head`: where there is one, in the form that its path asks for.
HttpReply refusal(const HttpError& error);
HttpReply refusal(const HttpError& error, const RequestHead& head);

// Appends the response to `out`. The connection closes after it. A streamed reply is chunked; for HTTP/1.0 it ends with
// the connection.
struct ReplyTo {
  bool is_head = false;
  Version version = Version::http11;
};
void write_reply(std::string& out, const HttpReply& reply, const ReplyTo& to, TimePoint now);
std::string as_chunk(std::string_view text);  // nothing for an empty text: an empty chunk ends the body

}  // namespace bloomwall::proxy
