// One request and its answer: made when the request's head was read, destroyed when the answer is complete.
//
//   deciding --allowed--> connecting --connected--> forwarding --answer complete--> over
//       |                     |                        |  |--tunnel (CONNECT, 101)--> over
//       |                     |                        |  \--answer complete before the request--> completing --> over
//       |                     |                        |
//       \------ refused, blocked, failed; TRACE -------+--> answering --rest of the request dropped--> over
//
// Its parts: the Upload and the Download pump octets between the ClientStream and the OriginLink; the ExchangeLog
// counts and logs. Both bodies stream at the same time; each side is read only while the other takes what was read
// (peer_full), so memory is bounded by one read a direction. Each turn sends one writev a side.
//
// Where filters hold networks, each address is judged before it is dialled, or before the request goes out on a
// connection that is there already: one that is blocked is not used, and where that leaves none the request is denied
// like any other. Where credentials must be checked (UserCheck), or the decision needs pages of a filter that are not
// in memory, that is awaited (DecisionWait) and the request is decided again, from the start: it costs a microsecond,
// and nothing of the judge's state has to be kept meanwhile.
// A request for the proxy itself is deciding until its SelfRequest has the answer.
// Where an answer is complete before its request is, the rest of that goes to the origin if it is small, so that both
// connections can carry another request (completing); where it is not, both are closed.
// A response that cannot be completed ends the client's connection so that it does not look whole.
//
// Owned by the client's stream, which schedules it for deletion when it says finish() or become_tunnel(): after a call
// to it, the stream must look whether it is still there. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "proxy/decision/client_stream.h"
#include "proxy/decision/decision_wait.h"
#include "proxy/decision/self_handler.h"
#include "proxy/decision/user_check.h"
#include "proxy/exchange/download.h"
#include "proxy/exchange/exchange_log.h"
#include "proxy/exchange/exchange_progress.h"
#include "proxy/exchange/origin_link.h"
#include "proxy/exchange/upload.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

class LocalReply;
class SelfRequest;
struct Decision;
struct ReadStep;
struct RequestContext;

class Exchange final : public DeletedLater, OriginLink::User, DecisionWait::Handler, SelfHandler {
 public:
  // How long the rest of a request that was answered may take to come (timeouts.body where that is less), for the
  // client's connection to live on. How much that may be: LocalReply::kDrainBytes.
  static constexpr Milliseconds kDrainTime{10'000};
  static constexpr Milliseconds kCloseRace{1000};
  static constexpr HttpError kNoMemory{ErrorKind::connection_limit, "limits.buffer_memory"};

  Exchange(WorkerState& worker, ClientStream& client);
  ~Exchange() override;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // The client's stream calls one of these first: the head was read, or there is none that can be understood. `out`
  // gathers for the origin.
  void begin(GatheredWrite& out);
  void fail_request(const HttpError& error);  // also later: what the client sends is no request any more
  // The body: pieces, its end, and whenever there is no more of it for now.
  void on_body(GatheredWrite& out, std::span<const char> piece);
  void on_body_end(GatheredWrite& out);
  std::size_t upload_ration() { return is_uploading() ? upload_.ration() : SIZE_MAX; }
  void flush_upload(GatheredWrite& out) {
    if (is_uploading()) upload_.flush(out);
  }

  void on_client_end();  // it will send nothing more
  void on_client_drained() { download_.on_drained(); }
  void on_client_gone();                                // it has reset its connection
  void abandon() { finish(ClientStream::After::cut); }  // its connection is cut
  // Nothing may stand still for ever: says when to ask again; acts, and may end the exchange, where time is up.
  Milliseconds check_progress();

 private:
  enum class State : std::uint8_t { deciding, connecting, forwarding, completing, answering, over };

  // Whether it may go on, and how.
  RequestContext request() const;
  void identify(GatheredWrite& out);
  void decide(GatheredWrite& out);
  void on_decision_ready() override;
  void on_decision_late(const HttpError& error) override;
  void route(GatheredWrite& out);
  void answer_without_origin(const HttpError& error);
  void on_blocked_connect(GatheredWrite& out);
  bool deny_by_host();

  // Towards the origin.
  void send_request(GatheredWrite& out);
  void on_origin_connected() override;
  void on_origin_failed(const HttpError& error) override { fail_response(error); }
  void on_addresses_blocked() override { deny_by_address(); }
  bool may_retry() const { return awaits_response() && link_.may_retry() && download_.is_untouched(); }
  void retry() {
    link_.retry();
    state_ = State::connecting;
  }
  // Of a connection that has ended: the request goes out on another, now or later.
  bool goes_on() {
    if (may_retry()) {
      retry();
      return true;
    }
    if (!awaits_response() || !download_.is_untouched() || !link_.wait_after_end()) return false;
    state_ = State::connecting;
    return true;
  }

  // Towards the client. The transport's handler is that of the origin's connection.
  std::size_t on_data(std::span<const char> bytes) override;
  std::size_t ration() override { return download_.ration(); }
  void on_end() override;
  void on_drained() override { upload_.on_drained(); }
  void on_write_failed(int) override { is_answered() ? stop_completing() : upload_.stop(); }  // an answer may come
  void on_failed(int error) override;
  bool take_as_surplus();
  bool take_response(GatheredWrite& out, const ReadStep& step);
  void on_response_head(GatheredWrite& out);
  void on_response_end(GatheredWrite& out, bool surplus);
  void stop_completing();  // what is left of the request is dropped as it comes
  void on_switched(GatheredWrite& out);
  void establish_tunnel();
  void hand_over_to_tunnel();
  // No octet of an answer has come on a connection that has carried others, and it ends so soon that the origin may
  // have closed it before the request was there. Later the origin had the request, and its client gets an error.
  bool is_silent() const {
    if (state_ != State::forwarding || !log_.peer_was_reused() || !download_.is_untouched()) return false;
    return is_inside() || monotonic_now() - upload_.asked_at() < kCloseRace;
  }
  void fail_response(const HttpError& error);
  // The answer cannot be completed. Where its framing would not show that, a reset must; where the origin has left open
  // whether that was all, so is it for the client.
  void break_off() {
    using After = ClientStream::After;
    const bool looks_whole = download_.plan().framing == BodyFraming::until_close;
    finish(!looks_whole ? After::close : ended_untold_ ? After::close_untold : After::cut);
  }

  // HTTP/2 without TLS in a tunnel: to who speaks it, an answer of HTTP/1 would be a broken frame.
  void end_unanswered(const HttpError& error) {
    log_.note_error(error);
    finish(ClientStream::After::close);
  }

  // Answered here.
  void deny();
  void deny(BlockEnd end);
  void show_page_in_tls();
  void deny_by_address();
  void answer_here(const Decision& decision);
  void answer_question(const Decision& decision);
  void begin_self();
  void on_self_answer(const ReportPage& page) override;
  void on_self_failure(const HttpError& error) override;
  void answer_error(const HttpError& error, bool must_close = false);
  void answer(LocalReply& reply);

  bool is_connect() const;
  bool is_inside() const;
  bool is_uploading() const { return state_ == State::forwarding || state_ == State::completing; }
  bool is_answered() const { return state_ == State::completing || state_ == State::answering; }
  bool awaits_response() const {  // no final head has come
    return state_ == State::connecting || (state_ == State::forwarding && !download_.has_begun());
  }
  // Nothing that the exchange waited for keeps the client from being read any more.
  void release_client() {
    upload_.stop_waiting();
    context_.client.resume(PauseReason::not_ready | PauseReason::peer_full | PauseReason::busy);
  }
  void finish(ClientStream::After after);

  ExchangeContext context_;
  ExchangeLog log_{context_};
  OriginLink link_{context_, log_, *this};
  Upload upload_{context_, link_};
  Download download_{context_, link_, upload_};
  ExchangeProgress progress_{context_, link_, upload_, download_};
  DecisionWait wait_;
  UserCheck user_check_{context_, wait_};
  std::unique_ptr<SelfRequest> self_;  // nullptr: the request is for an origin
  Timer drain_deadline_;
  State state_ = State::deciding;
  bool ended_untold_ = false;  // the origin of intercepted TLS, by kEndedUntold
};

}  // namespace bloomwall::proxy
