// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/exchange.h"

#include <algorithm>
#include <utility>

#include "proxy/decision/client_info.h"
#include "proxy/decision/self_request.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/local_reply.h"
#include "proxy/http/rewrite.h"
#include "proxy/tunnel/tunnel.h"
#include "proxy/upstream/gathered_write.h"

namespace bloomwall::proxy {
namespace {

using After = ClientStream::After;
using Phase = ExchangeProgress::Phase;
using Reuse = OriginLink::Reuse;

}  // namespace

Exchange::Exchange(WorkerState& worker, ClientStream& client)
    : context_{.worker = worker, .client = client, .snapshot = worker.snapshot, .judged_by = worker.editions},
      wait_(worker, *this),
      drain_deadline_(
          worker.io.loop.timers(), [](void* self) { static_cast<Exchange*>(self)->finish(After::close); }, this) {}

Exchange::~Exchange() = default;

bool Exchange::is_connect() const {
  return context_.client.head() != nullptr && context_.client.head()->method == Method::connect;
}

bool Exchange::is_inside() const { return context_.client.info().inside != nullptr; }

// --- the decision

void Exchange::decide(GatheredWrite& out) {
  Decision decision = context_.worker.decider.decide(request());
  if (decision.act == Decision::Act::wait_for_pages) {
    if (!context_.client.request_ended()) context_.client.pause(PauseReason::not_ready);
    return wait_.for_pages(context_.snapshot->settings.timeouts.connect);
  }
  context_.go_to(decision);
  log_.note_verdict(std::move(decision.verdict), decision.act != Decision::Act::refuse);
  if (!user_check_.may_go_to(context_.host)) return answer_error(user_check_.error());
  if (context_.client.question() != nullptr) return answer_question(decision);
  switch (decision.act) {
    case Decision::Act::refuse:
      return answer_error(decision.error);
    case Decision::Act::block:
      return is_connect() ? on_blocked_connect(out) : deny();
    case Decision::Act::forward:
    case Decision::Act::tunnel:
      return route(out);
    case Decision::Act::answer_trace:
    case Decision::Act::answer_options:
    case Decision::Act::answer_authority:
      return answer_here(decision);
    case Decision::Act::show_self:
      return log_.decide_tls() == TlsAction::page ? show_page_in_tls() : answer_error(kSelfIsPlain);
    case Decision::Act::answer_self:
      return begin_self();
    case Decision::Act::wait_for_pages:
      return;
  }
}

// The decision may come from another policy than the one that was asked first.
void Exchange::on_decision_ready() {
  context_.snapshot = context_.worker.snapshot;
  context_.judged_by = context_.worker.editions;
  GatheredWrite out(context_.worker.gather);
  identify(out);
  flush_upload(out);
}

// Inside a tunnel there is that one's connection alone, whatever Host says.
void Exchange::route(GatheredWrite& out) {
  link_.route();
  if (is_inside()) {
    if (const auto error = link_.take_inner()) return answer_without_origin(*error);
  }
  switch (link_.access()) {
    case OriginLink::Access::allowed:
      break;
    case OriginLink::Access::denied:
      return answer_error({ErrorKind::destination_denied, "access.deny_destinations"});
    case OriginLink::Access::blocked:
      return deny_by_address();
  }
  const bool is_there = is_inside() || link_.take_pooled();
  if (link_.has_lost_bound()) {
    log_.note_error({ErrorKind::connection_terminated, "the connection that the client has logged in on has ended"});
    return finish(After::close);  // as it would see it without a proxy
  }
  if (!is_there) {
    state_ = State::connecting;
    return link_.dial();
  }
  send_request(out);
  context_.client.resume(PauseReason::not_ready);
}

// --- the request

// Gathers the head; the caller flushes it, with what there is of the body.
void Exchange::send_request(GatheredWrite& out) {
  state_ = State::forwarding;
  if (!is_connect()) log_.count_verdict();
  download_.begin();
  upload_.begin(out);
}

void Exchange::on_origin_connected() {
  if (is_connect() && !link_.goes_to_parent()) return establish_tunnel();
  GatheredWrite out(context_.worker.gather);
  send_request(out);
  upload_.send_head(out);
  context_.client.resume(PauseReason::not_ready);
}

void Exchange::on_body(GatheredWrite& out, std::span<const char> piece) {
  upload_.count(piece);
  if (state_ == State::answering) {
    if (upload_.received() > LocalReply::kDrainBytes) finish(After::close);
    return;
  }
  if (self_ != nullptr) return self_->on_body(piece);
  if (upload_.is_stopped() || !link_.is_connected()) return;
  const std::uint64_t most = context_.snapshot->settings.limits.request_body;
  if (most > 0 && upload_.received() > most) return fail_request({ErrorKind::body_too_large, "limits.request_body"});
  upload_.add(out, piece);
}

void Exchange::on_body_end(GatheredWrite& out) {
  if (state_ == State::answering) return finish(After::keep);
  if (self_ != nullptr) return self_->on_body_end();
  upload_.end(out);
  if (state_ != State::completing) return;
  if (link_.is_connected() && !upload_.is_stopped()) link_.release(download_.reuse());
  finish(After::keep);
}

void Exchange::fail_request(const HttpError& error) {
  if (is_answered()) return finish(After::close);
  if (download_.has_begun()) return break_off();
  if (is_inside() && error.kind == ErrorKind::http2_preface) return end_unanswered(error);
  answer_error(error);
}

// --- the response

// Octets that are early may be an answer all the same, but not where nothing of the request has reached the origin.
bool Exchange::take_as_surplus() {
  if (is_inside() || !(may_retry() || upload_.has_reached_nobody())) return false;
  link_.distrust();
  may_retry() ? retry() : fail_response({ErrorKind::connection_terminated, "octets that answer no request"});
  return true;
}

std::size_t Exchange::on_data(std::span<const char> bytes) {
  if (state_ == State::completing) {  // beyond the answer's end
    link_.distrust();
    stop_completing();
    return bytes.size();
  }
  if (awaits_response() && download_.note_early() && take_as_surplus()) return bytes.size();
  GatheredWrite out(context_.worker.gather);  // for the client
  for (std::size_t used = 0; state_ == State::forwarding;) {
    const auto step = download_.feed(bytes.subspan(used));
    if (!step) {
      download_.flush(out);
      fail_response(step.error());
      break;
    }
    used += step->consumed;
    if (step->event == ReadEvent::end) {
      if (!download_.answer().switched()) {
        on_response_end(out, used < bytes.size());
        break;
      }
      on_switched(out);
      return used;  // what is left belongs to the tunnel
    }
    if (!take_response(out, *step)) return used;
  }
  return bytes.size();
}

// False: there is no more of it for now.
bool Exchange::take_response(GatheredWrite& out, const ReadStep& step) {
  switch (step.event) {
    case ReadEvent::interim:
      if (!is_connect()) download_.send_interim(out);  // a parent's, and a tunnel has none
      return true;
    case ReadEvent::head:
      on_response_head(out);
      return true;
    case ReadEvent::body:
      download_.add_body(out, step.body);
      return true;
    case ReadEvent::need_more:
    case ReadEvent::end:
      break;
  }
  download_.flush(out);
  if (!download_.count_memory()) fail_response(kNoMemory);
  return false;
}

void Exchange::on_response_head(GatheredWrite& out) {
  if (download_.answer().switched()) return;  // `end` follows and tells the client
  if (!download_.count_memory()) return fail_response(kNoMemory);
  const ResponseHead& head = download_.answer().head();
  if (const auto error = link_.parent_error(head.status)) {
    if (error->kind == ErrorKind::parent_refused) context_.parent_refusal = ParentRefusal::of(head);
    return fail_response(*error);
  }
  log_.note_response(head);
  download_.add_head(out);
}

void Exchange::on_response_end(GatheredWrite& out, bool surplus) {
  download_.send_end(out);
  if (surplus) link_.distrust();
  const Reuse reuse = surplus || upload_.is_stopped() ? Reuse::never : download_.reuse();
  const bool has_ended = context_.client.request_ended(), closes = download_.plan().close;
  if (has_ended || closes) {
    link_.release(has_ended ? reuse : Reuse::never);
    return finish(closes ? After::close : After::keep);
  }
  // The client was told that its connection is kept: the rest of its request is read, even if it is dropped.
  state_ = State::completing;
  drain_deadline_.set(std::min(kDrainTime, context_.snapshot->settings.timeouts.body));
  if (reuse == Reuse::never) stop_completing();
}

void Exchange::stop_completing() {
  link_.release(Reuse::never);
  release_client();
}

void Exchange::on_end() {
  if (state_ == State::completing) return stop_completing();
  if (goes_on()) return;
  if (is_silent()) return fail_response({ErrorKind::connection_terminated, "closed without an answer"});
  const auto step = download_.finish();
  if (!step) return fail_response(step.error());
  GatheredWrite out(context_.worker.gather);
  on_response_end(out, false);
}

void Exchange::on_failed(int why) {
  if (state_ == State::completing) return stop_completing();
  if (goes_on()) return;
  ended_untold_ = why == kEndedUntold && context_.client.info().is_intercepted();
  fail_response(link_.failure(why));
}

void Exchange::fail_response(const HttpError& error) {
  if (is_silent() || (awaits_response() && error.kind == ErrorKind::origin_refused)) {
    log_.note_error(error);  // an idle connection has ended, as any may: the client sees just that and asks again
    return finish(After::close);
  }
  if (awaits_response()) return answer_error(error);
  log_.note_error(error);
  break_off();
}

// 101 to an upgrade that was forwarded, or a parent's 2xx to CONNECT.
void Exchange::on_switched(GatheredWrite& out) {
  if (is_connect()) return establish_tunnel();
  if (!download_.switches_as_asked()) {
    return fail_response({ErrorKind::upstream_protocol, "status 101 to another protocol than was asked for"});
  }
  log_.status = 101;
  download_.send_switch(out);
  hand_over_to_tunnel();
}

void Exchange::establish_tunnel() {
  log_.leave_verdict_to_tunnel();
  GatheredWrite answer(context_.worker.gather);
  if (!context_.client.is_implicit_tunnel()) write_connect_established(answer.head(), context_.worker.via);
  context_.client.send(answer, false);
  log_.status = 200;
  hand_over_to_tunnel();
}

void Exchange::hand_over_to_tunnel() {
  TunnelStart start = log_.make_tunnel_start();
  state_ = State::over;
  download_.end();
  release_client();
  link_.transport().resume(PauseReason::peer_full);
  context_.client.become_tunnel(link_.detach(), std::move(start));  // last: the stream has us deleted later
}

// --- what is answered here

void Exchange::deny() { deny(context_.worker.decider.block_end(request(), log_.verdict())); }

void Exchange::deny(BlockEnd end) {
  log_.note_own_denial(std::move(end));
  LocalReply reply(context_, log_);
  reply.write_block_reply();
  answer(reply);
}

// By what a filter says of the address, or of each that the name has.
void Exchange::deny_by_address() {
  log_.deny_by_address() ? deny() : answer_error({ErrorKind::destination_denied, "the address is denied"});
}

void Exchange::answer_here(const Decision& decision) {
  LocalReply reply(context_, log_);
  reply.write(decision);
  answer(reply);
}

void Exchange::answer_error(const HttpError& error, bool must_close) {
  log_.note_answered_error(error);
  LocalReply reply(context_, log_);
  reply.write_error(error, must_close);
  answer(reply);
}

// What is left of the request is dropped as it comes.
void Exchange::answer(LocalReply& reply) {
  state_ = State::answering;
  link_.release(Reuse::never);
  switch (reply.send()) {
    case LocalReply::Next::close:
      return finish(After::close);
    case LocalReply::Next::keep:
      return finish(After::keep);
    case LocalReply::Next::drain:
      drain_deadline_.set(std::min(kDrainTime, context_.snapshot->settings.timeouts.body));
      return release_client();
  }
}

// --- the client, and time

void Exchange::on_client_end() {
  if (context_.client.request_ended()) return;  // it still wants its answer
  if (is_answered()) return finish(After::close);
  if (download_.has_begun()) return;
  log_.note_error({ErrorKind::client_gone, "the client ended its side in the middle of the request's body"});
  finish(After::cut);  // an upload cut short is completed nowhere
}

void Exchange::on_client_gone() {
  if (!is_answered() && !log_.has_error()) {
    log_.note_error({ErrorKind::client_gone, "the client reset its connection"});
  }
  abandon();
}

Milliseconds Exchange::check_progress() {
  if (!link_.is_connected() || is_answered()) return progress_.often();  // there is a deadline
  const Phase phase = awaits_response() ? Phase::awaiting : Phase::answering;
  Milliseconds again{0};
  const auto stall = progress_.find_stall(phase, again);
  if (!stall) return again;
  if (phase == Phase::awaiting) {
    answer_error(*stall, true);
    return again;
  }
  log_.note_error(*stall);
  finish(After::cut);
  return again;
}

void Exchange::finish(After after) {
  if (state_ == State::over) return;
  const bool is_local_reply = state_ == State::answering;
  state_ = State::over;
  log_.count_verdict();
  log_.write(upload_.received(), is_local_reply);
  wait_.cancel();
  if (self_ != nullptr) self_->cancel();
  drain_deadline_.clear();
  download_.end();
  link_.release(Reuse::never);
  release_client();
  context_.client.finish(after);  // last: the stream has us deleted later
}

}  // namespace bloomwall::proxy
