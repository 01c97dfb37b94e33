// What is known of one exchange when it ends: what was decided on it, who answered, how long it took. Counts each
// decision once, when nothing more can change it, and writes the line of the access log.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "proxy/decision/request_log.h"
#include "proxy/http/block_end.h"
#include "proxy/http/http_error.h"
#include "proxy/reply/decision_id.h"

namespace bloomwall::proxy {

class UpstreamConnection;
struct ExchangeContext;
struct ResponseHead;
struct InterceptionStart;
enum class TlsAction : std::uint8_t;
struct TlsDecision;
struct TlsQuestion;
struct TunnelStart;

class ExchangeLog {
 public:
  explicit ExchangeLog(const ExchangeContext& context);
  ~ExchangeLog();
  ExchangeLog(const ExchangeLog&) = delete;
  ExchangeLog& operator=(const ExchangeLog&) = delete;

  // The verdict on the request. `counts`: among the counters, as soon as count_verdict() says that it is final.
  void note_verdict(KeptVerdict verdict, bool counts);
  // What the filters say of an address that is about to be used. False: it is blocked.
  bool note_address(KeptVerdict verdict);
  // Why no address could be used becomes the verdict; false: no filter said so.
  bool deny_by_address();
  const KeptVerdict& verdict() const { return verdict_; }

  void note_error(const HttpError& error);
  void note_answered_error(const HttpError& error);  // likewise, and the client is told
  bool has_error() const { return error_.has_value(); }
  // For its client to be shown. Before the answer leaves: the client may ask at once, on another connection.
  void note_own_denial(BlockEnd end);
  const BlockEnd& block_end() const { return block_end_; }  // of that denial
  void count_verdict();
  void leave_verdict_to_tunnel();  // which may come to another and counts that

  void note_peer(const UpstreamConnection& upstream);
  void forget_peer();  // nobody is asked after all
  bool peer_was_reused() const { return peer_was_reused_; }

  void note_response(const ResponseHead& head);  // of the origin, whose answer the client gets

  const DecisionId& decision_id() const { return decision_id_; }
  const std::string& url();      // as a person knows it
  std::string_view shown_url();  // what of it may be kept: inside TLS no query, and no path of what is allowed
  void write(std::uint64_t body_octets, bool is_local_reply);  // the request's body
  // What a tunnel goes on with; the client's stream adds what it knows.
  TunnelStart make_tunnel_start();
  // Of a CONNECT that is blocked, or to the self host: what becomes of its TLS. Of a page inside it: what that begins
  // with, which has its line. intercept: URLs are allowed, and the verdict is left to them.
  TlsAction decide_tls();
  InterceptionStart make_page_start(std::uint64_t body_octets);
  void leave_verdict_to_urls();

  RequestTimes times = RequestTimes::from_now();
  int status = 0;  // 0: the client was told nothing
  bool is_for_parent = false;

 private:
  void count_questions();
  void see_client(bool is_refused) const;  // so that it is among those who are there
  TlsQuestion make_tls_question() const;
  bool hides_url() const;

  const ExchangeContext& context_;
  KeptVerdict verdict_;
  BlockEnd block_end_;
  KeptVerdict blocked_address_;  // the first of them
  DecisionId decision_id_;
  std::optional<HttpError> error_;
  std::unique_ptr<const TlsDecision> tls_decision_;  // of a CONNECT that is blocked
  bool leaves_urls_ = false;                         // TunnelStart::leaves_urls
  std::string url_, content_type_;
  std::string peer_;  // where the request was sent; empty: nowhere
  bool peer_was_reused_ = false;
  bool is_uncounted_ = false;  // verdict_ is not among the counters yet: an address may change it
};

}  // namespace bloomwall::proxy
