// One request and its answer, from the first octet of the head to the last octet of the body.
//
//   head --judge--> local answer (page, error, TRACE)          request:  head -> awaiting_upstream -> body -> complete
//              \--> pooled connection or Connector -> origin   response: none -> awaited -> body -> complete
//                                     \-> tunnel (CONNECT, 101)
// Inside a tunnel all requests go out on the connection of that tunnel.
//
// Where filters hold networks, each address is judged before it is dialled, or before the request goes out on a connection that
// is there already: one that is blocked is not used, and where that leaves none the request is denied like any other.
// Where the verdict needs pages of a filter that are not in memory, they are awaited (PageReader) and the request is judged
// again, from the start: it costs a microsecond, and nothing of the judge's state has to be kept meanwhile.
// Both bodies stream at the same time; each side is read only while the other takes what was read (peer_full), so memory
// is bounded by one read a direction. Each turn sends one writev a side.
// A request is sent again, once, only if it is idempotent, has no body, went out on a pooled connection, and not one octet
// of an answer came. A response that cannot be completed ends the client's connection so that it does not look whole.
// Reused: begin() may follow once an exchange is over; ExchangePool keeps spare ones warm, so that idle clients hold none.
// Owned by a ClientConnection, which gives it back to the pool as soon as it is over; there it rests for a turn, because its
// own code may still be on the stack. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proxy/http/replies.h"
#include "proxy/http/request_reader.h"
#include "proxy/http/response_reader.h"
#include "proxy/http/rewrite.h"
#include "proxy/net/client_info.h"
#include "proxy/net/connector.h"
#include "proxy/net/kept_verdict.h"
#include "proxy/net/rate_check.h"
#include "proxy/net/request_log.h"
#include "proxy/net/tunnel.h"
#include "proxy/net/worker_state.h"

namespace bloomwall::proxy {

class Exchange final : Transport::Handler, Connector::Handler, PageReader::Handler {
 public:
  // What a client may still send of a request that was answered here, and how long (timeouts.body where that is less), for
  // its connection to live on.
  static constexpr std::uint64_t kDrainBytes = std::uint64_t{64} * 1024;
  static constexpr Milliseconds kDrainTime{10'000};

  // What becomes of the client's connection afterwards.
  enum class After : std::uint8_t {
    keep,   // the next request may come
    close,  // once everything that was sent has arrived
    cut,    // at once and visibly: the answer is not whole
  };
  class Owner {
   public:
    virtual Transport& client_transport() = 0;
    virtual const ClientInfo& client_info() const = 0;
    virtual void on_head_read() = 0;  // the time-out of request heads no longer counts
    virtual void on_exchange_end(After after) = 0;
    virtual void on_tunnel(UpstreamPtr upstream, Tunnel::Start start) = 0;  // ends the exchange as well
    // ClientInfo::inside: the one connection that its requests go out on, and none other.
    virtual UpstreamPtr take_inner() = 0;  // nullptr: it is gone
    virtual void keep_inner(UpstreamPtr upstream) = 0;
    virtual bool has_inner() const = 0;

   protected:
    ~Owner() = default;
  };

  explicit Exchange(WorkerState& state);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void begin(Owner& owner);
  void shrink();  // at rest: lets go of what a large head has left behind
  // The CONNECT that a client on a transparent listener would have sent before its ClientHello. As it knows nothing of it,
  // nothing is answered: there is a tunnel, or the end. `is_named`: the host in `authority` stood in the ClientHello.
  void begin_unasked_tunnel(Owner& owner, std::string_view authority, bool is_named);
  // The client's side, as in Transport::Handler.
  std::size_t on_client_data(std::span<const char> bytes);
  void on_client_end();  // it will send nothing more
  void on_client_drained();
  void abandon();         // its connection is cut
  void on_client_gone();  // likewise, by the client
  void on_head_timeout();
  // Nothing may stand still for ever: says when to ask again; acts, and may end the exchange, where time is up.
  Milliseconds check_progress();
  // All of the request was read, and its client has said that it is the last: nothing is still to come, so that closing the
  // connection cuts nothing off.
  bool is_last() const { return !broken_ && head_known_ && request_.at_end() && !request_.head().keep_alive; }
  bool is_over() const { return owner_ == nullptr; }

 private:
  enum class RequestState : std::uint8_t { head, awaiting_upstream, body, complete };
  enum class ResponseState : std::uint8_t { none, awaited, body, complete };

  // exchange.cc: its course, and what the log says of it.
  bool on_head(GatheredWrite& out);  // false: the exchange is over
  void fail_request(const HttpError& error);
  void break_off();
  void use(UpstreamPtr upstream);
  enum class Reuse : std::uint8_t { never, rested, at_once };
  void release_upstream(Reuse reuse);
  Reuse reuse_after(bool surplus) const;
  void end(After after);
  void release_client();
  bool count_heads() { return heads_.set(request_.memory() + response_.memory()); }  // false: limits.buffer_memory
  void on_deadline();
  Milliseconds last_progress() const;
  bool is_too_slow();
  bool owes_octets();
  HttpError late_answer() const;
  void note_error(const HttpError& error);
  void write_log();
  void describe_request(AccessRecord& record);
  void append_url(std::string& out) const;

  // exchange_verdict.cc: whether it may go on.
  std::optional<HttpError> refuse_client() const;
  RequestContext context() const { return {request_.head(), owner_->client_info(), is_unasked_}; }
  void decide(GatheredWrite& out);
  void count_verdict();
  void count_questions();
  bool may_dial(const Endpoint& peer) override;
  bool may_send_to(const Endpoint& peer);
  bool may_ask_parent();
  void await_pages();
  void on_pages_read() override;
  void cancel_page_wait();

  // exchange_answer.cc: what is answered here.
  void deny();
  void deny_address();
  void answer_error(const HttpError& error);
  void note_refused_target(ErrorKind kind);
  void answer_trace();
  void answer_options();
  void answer_local(GatheredWrite& answer, int status, bool must_close);
  bool may_keep_after_local_answer() const;
  bool is_refused_connect() const;
  std::string_view accepted(const RequestHead& head);
  ReplyContext reply_context(bool close);

  // exchange_request.cc: towards the origin.
  void route_to_origin(GatheredWrite& out);
  void route_inside(GatheredWrite& out);
  DialTarget origin() const;
  void dial();
  void send_request(GatheredWrite& out);
  void upload(GatheredWrite& out, std::span<const char> piece);
  void flush_upload(GatheredWrite& out);
  void on_request_complete(GatheredWrite& out);
  RequestRewrite request_rewrite() const;
  bool may_retry() const;
  void retry();
  void on_connected(UniqueFd fd, const Endpoint& peer) override;
  void on_dial_failed(const HttpError& error) override;
  void establish_tunnel();
  void hand_over_to_tunnel();
  Tunnel::Start tunnel_start();

  // exchange_response.cc: towards the client.
  std::size_t on_data(std::span<const char> bytes) override;
  bool spoke_too_early();
  bool count_response_heads();
  void on_end() override;
  void on_drained() override;
  void on_write_failed(int error) override;
  void on_failed(int error) override;
  void relay_interim(GatheredWrite& out);
  void on_response_head(GatheredWrite& out);
  static bool is_time_to_tell(Milliseconds& told);
  bool is_challenge_ours() const;
  void fail_challenge();
  void flush_download(GatheredWrite& out);
  void on_response_end(GatheredWrite& out, bool surplus);
  void on_switched(GatheredWrite& out);
  void fail_response(const HttpError& error);
  ResponseRewrite response_rewrite();

  Transport& client() { return owner_->client_transport(); }
  bool upload_is_chunked() const { return request_.head().framing == BodyFraming::chunked; }
  bool is_chunked_to_client() const { return plan_.framing == BodyFraming::chunked; }
  bool is_inside() const { return owner_->client_info().inside != nullptr; }
  bool is_connect() const { return request_.head().method == Method::connect; }

  WorkerState& state_;
  Owner* owner_ = nullptr;
  RequestReader request_;
  ResponseReader response_;
  Connector connector_;
  UpstreamPtr upstream_;
  SnapshotPtr snapshot_;
  PageReader::Wait* page_wait_ = nullptr;  // the verdict waits for the disk
  bool has_waited_for_pages_ = false;
  // Of a wait for the disk, of the TLS handshake with a parent (both timeouts.connect), of dropping a request's body.
  Timer deadline_;
  RateCheck rate_;
  Reservation heads_;  // both heads, and their trailers, are memory that waits for others as bodies are
  KeptVerdict verdict_;
  KeptVerdict address_verdict_;  // why may_dial() said no, the first time
  DecisionId decision_id_;
  ResponsePlan plan_;
  HttpError error_;
  std::string host_, pool_key_, url_, content_type_, accept_;
  std::string peer_text_;  // whom the request went to; empty: nobody
  RequestTimes times_;
  Milliseconds waiting_since_{0};  // for the disk, then for a connection
  Milliseconds asked_at_{0};       // when the origin was last given something of the request to answer
  std::uint64_t sent_before_ = 0, body_received_ = 0;
  int status_ = 0;
  std::uint16_t port_ = 0, host_field_port_ = 0;
  RequestState request_state_ = RequestState::head;
  ResponseState response_state_ = ResponseState::none;
  bool head_known_ = false;     // request_.head() may be looked at
  bool is_uncounted_ = false;   // verdict_ is not among the counters yet: the address may change it
  bool answered_here_ = false;  // the answer is ours; what comes of the request's body is dropped
  bool is_unasked_ = false;     // begin_unasked_tunnel(): the client must not hear of it
  bool is_named_by_hello_ = false;
  bool retried_ = false;
  bool to_parent_ = false;
  bool has_error_ = false;
  bool broken_ = false;          // the request reader stopped at an error
  bool upload_stopped_ = false;  // the origin takes no more of the request's body
  bool peer_was_reused_ = false;
  bool answered_early_ = false;  // its answer began before the request had arrived there
};

}  // namespace bloomwall::proxy
