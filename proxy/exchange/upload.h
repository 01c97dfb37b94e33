// The request on its way to the origin: its head as the origin gets it, and its body, of which no more is read than the
// origin takes. Gathers into the caller's write, so that head and body leave together. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "proxy/http/hidden_request.h"
#include "proxy/io/timer_wheel.h"
#include "proxy/upstream/memory_wait.h"

namespace bloomwall::proxy {

class GatheredWrite;
class OriginLink;
struct ExchangeContext;
struct RequestRewrite;

class Upload {
 public:
  Upload(ExchangeContext& context, OriginLink& link);

  void begin(GatheredWrite& out);  // the head
  // Without a word about back-pressure: it may wait for the TLS handshake.
  void send_head(GatheredWrite& out);

  void count(std::span<const char> piece) { received_ += piece.size(); }
  std::uint64_t received() const { return received_; }  // octets of the body, from the client

  void add(GatheredWrite& out, std::span<const char> piece);
  void end(GatheredWrite& out);
  void flush(GatheredWrite& out);
  void on_drained();
  std::size_t ration();  // of the client's transport, see Transport::Handler
  void stop_waiting();   // reads the client again

  void stop();  // the origin takes no more
  bool is_stopped() const { return is_stopped_; }
  // What the origin's kernel has confirmed; one system call each.
  bool has_reached_nobody() const { return confirmed() <= 0; }
  bool has_delivered_head() const { return confirmed() >= head_octets_; }
  // An origin that does not read the body may answer what it holds, see there.
  bool may_hide_request() const { return hidden_.found(); }
  // When the origin was last given something of the request to answer.
  Milliseconds asked_at() const { return asked_at_; }

 private:
  bool is_chunked() const;
  RequestRewrite rewrite() const;
  std::int64_t confirmed() const;  // octets of the request; 0 or less: none

  ExchangeContext& context_;
  OriginLink& link_;
  MemoryWait wait_;
  HiddenRequestSearch hidden_;
  std::uint64_t received_ = 0;
  std::uint64_t sent_before_ = 0;  // octets, on the connection
  std::int64_t head_octets_ = 0;
  Milliseconds asked_at_{0};
  bool is_stopped_ = false;
};

}  // namespace bloomwall::proxy
