// The tunnel that a client on a transparent listener would have asked for, if it knew of a proxy: read out of its
// ClientHello, it becomes the head of a CONNECT to the host that is named there, or to the address that the client
// meant to reach. The TunnelPeek that reads it goes on to watch the tunnel. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "proxy/decision/request_log.h"
#include "proxy/http/request.h"
#include "proxy/tunnel/tunnel_peek.h"

namespace bloomwall::proxy {

class ImplicitTunnel {
 public:
  ImplicitTunnel(WorkerState& worker, const ClientInfo& client);

  // The client's next octets, all of which are kept. True: head() stands, or error() says why there is none.
  bool feed(std::span<const char> bytes);
  const RequestHead& head() const { return head_; }
  const std::optional<HttpError>& error() const { return error_; }
  bool is_named() const { return is_named_; }  // the host in head() is the ClientHello's
  std::unique_ptr<TunnelPeek> take_peek() { return std::move(peek_); }

  // A firewall that also redirects this process's own connections would make a loop: a warning says so.
  static bool is_own_connection(const WorkerState& worker, const ClientInfo& client);
  // It hears nothing; the log has a line of the CONNECT that it would have sent. `hello`: nullptr: none was begun.
  // `octets`: what the client has sent.
  static void log_refusal(WorkerState& worker, const ClientInfo& client, const ImplicitTunnel* hello,
                          const HttpError& error, std::uint64_t octets);

 private:
  bool make_head();
  bool fail(const HttpError& error);

  WorkerState& worker_;
  const ClientInfo& client_;
  std::unique_ptr<TunnelPeek> peek_;
  RequestTimes times_ = RequestTimes::from_now();
  std::string authority_;  // what head_ points to
  RequestHead head_;
  std::size_t octets_ = 0;
  std::optional<HttpError> error_;
  bool is_named_ = false;
};

}  // namespace bloomwall::proxy
