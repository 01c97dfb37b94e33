// The program's own HTTP server: serves a table of routes on one listening socket, the TCP admin address or the unix
// control socket. On the main loop, never on a worker's, so that its requests do not delay clients of the proxy.
// One request per connection: the connection closes after the reply, and further requests are not read. It uses the
// request reader and the transports of the client sessions (proxy/client), so there is one HTTP parser. It is not
// evhttp, whose release in Debian 12 has a second parser and no limits for connections and fields; and it is not a
// ClientSession, which lives on a worker and judges requests. Limits: the number of connections (a new one replaces
// the oldest that awaits no reply; where all do, the new one is closed); a timeout until a request is complete (then
// 408, or a plain close if nothing was received) and again until its reply is taken; kLongestHead octets of head
// (431, 414); the body as the route says (413). A stream's client is closed once kMostBacklog octets wait for it, or
// for as long as the timeout some do. Handlers must not block: a reply that takes long goes on by its HttpStream.
// Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "proxy/api/http_routes.h"
#include "proxy/http/body_reader.h"
#include "proxy/io/transport.h"
#include "proxy/io/unix_socket.h"
#include "proxy/tls/tls_context.h"
#include "proxy/upstream/acceptor.h"

namespace bloomwall::proxy {

class HttpServer final : Acceptor::Handler, HttpStream::Sink {
 public:
  static constexpr std::size_t kLongestHead = std::size_t{16} << 10;
  static constexpr std::size_t kMostBacklog = std::size_t{1} << 20;
  static constexpr int kStreamQueue = 16 << 10;  // octets of a stream that the kernel holds, and as many of its own use
  struct Bounds {
    std::size_t connections = 64;
    Milliseconds patience{10'000};
  };
  using Opened = tl::expected<std::unique_ptr<HttpServer>, std::string>;

  // `given`: listens at the address already.
  // `address`: ip:port, [ip6]:port or :port. `tls`: clients speak it; nullptr: none does. Error: "admin.address:
  // 127.0.0.1:9128: Address already in use".
  static Opened open(IoContext& io, const std::string& address, HttpRoutes routes, Bounds bounds,
                     TlsContextPtr tls = nullptr, std::optional<ListeningSocket> given = std::nullopt);
  // For connections from now on; of a server that was opened with TLS.
  void set_tls(TlsContextPtr tls) { tls_ = std::move(tls); }
  // As listen_at() does, and removes the name at the end. Error: "admin.control_socket: PATH: File exists".
  // `given`: listens at the path already, whose name stays another process's until keep_name().
  static Opened open_unix(IoContext& io, const std::filesystem::path& path, HttpRoutes routes, Bounds bounds,
                          UniqueFd given = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Another descriptor of the queue, for another process.
  tl::expected<ListeningSocket, std::string> share_socket() const { return acceptor_.share_socket(); }
  void hold() { acceptor_.hold(); }     // clients wait in the queue
  void resume() { acceptor_.start(); }  // after hold()
  void keep_name() const;
  void hand_over();  // another process has the queue; clients that are connected are served on

  using Answered = std::array<std::uint64_t, 6>;  // replies by status / 100
  const Answered& answered() const { return answered_; }
  const Endpoint& address() const { return address_; }  // with the port that the kernel chose

 private:
  class Connection;
  HttpServer(IoContext& io, ListeningSocket socket, const std::filesystem::path& path, HttpRoutes routes, Bounds bounds,
             TlsContextPtr tls = nullptr);
  void on_accepted(UniqueFd fd, const Endpoint& client, const Acceptor& from) override;
  void on_closed(std::uint64_t id);
  void write(std::uint64_t id, std::string_view text) override;
  void end(std::uint64_t id) override;
  void reply(std::uint64_t id, const HttpReply& whole) override;
  bool goes_on(std::uint64_t id) const override;

  IoContext& io_;
  const HeadLimits limits_{.head_bytes = kLongestHead, .fields = 64};
  const HttpRoutes routes_;
  const Bounds bounds_;
  const Endpoint address_;
  TlsContextPtr tls_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;  // the oldest first
  std::uint64_t next_id_ = 1;
  Answered answered_{};
  Acceptor acceptor_;
  const std::unique_ptr<SocketName> name_;  // of a unix socket; last: unlinked before the socket is closed
};

}  // namespace bloomwall::proxy
