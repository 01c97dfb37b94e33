// What an exchange answers by itself: denials, errors, and what may become of the connection afterwards.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "proxy/net/exchange.h"

namespace bloomwall::proxy {

// Several lines are one list (RFC 9110 section 5.3).
std::string_view Exchange::accepted(const RequestHead& head) {
  const Field* first = nullptr;
  accept_.clear();
  for (const Field& field : head.fields) {
    if (field.id != FieldId::accept) continue;
    if (first == nullptr) {
      first = &field;
      continue;
    }
    if (accept_.empty()) accept_ = first->value;
    accept_.append(", ").append(field.value);
  }
  if (first == nullptr) return {};
  return accept_.empty() ? first->value : std::string_view(accept_);
}

ReplyContext Exchange::reply_context(bool close) {
  ReplyContext context;
  context.proxy_name = state_.snapshot->settings.headers.via_name;
  context.now = std::chrono::system_clock::now();
  context.close = close;
  context.decision_id = decision_id_.text();
  if (head_known_) {
    const RequestHead& head = request_.head();
    context.method = head.method;
    context.client = head.version;
    context.accept = accepted(head);
  }
  return context;
}

// Whether what is left of the request can be read and dropped, so that the next one is found where it begins.
bool Exchange::may_keep_after_local_answer() const {
  if (!head_known_ || broken_ || state_.draining) return false;
  const RequestHead& head = request_.head();
  if (!head.keep_alive || (is_inside() && !owner_->has_inner())) return false;
  if (request_state_ == RequestState::complete || head.framing == BodyFraming::none) return true;
  if (head.expect_continue) return false;  // the client may now send the body, or may not
  return head.framing != BodyFraming::length || request_.body_left() <= kDrainBytes;
}

void Exchange::deny() {
  const auto& filters = snapshot_->settings.filters;
  const auto spec = std::find_if(filters.begin(), filters.end(),
                                 [&](const conf::Filter& f) { return f.name == verdict_.filter->name; });
  const bool legal = verdict_.filter->status == 451 && spec != filters.end();
  append_url(url_);
  const bool close = is_connect() || !may_keep_after_local_answer();
  GatheredWrite answer(state_.gather);
  write_denial(answer.head(),
               {.verdict = &verdict_,
                .url = url_,
                .host = host_,
                .page = &snapshot_->settings.block_page,
                .html = &snapshot_->page,
                .legal_link = legal ? std::string_view(spec->legal_link) : std::string_view()},
               reply_context(close));
  answer_local(answer, verdict_.filter->status == 451 ? 451 : 403, close);
}

// By what a filter says of the address, or of each that the name has. A request that was counted when it was sent the first
// time is not counted as one again.
void Exchange::deny_address() {
  if (address_verdict_.filter == nullptr) return answer_error({ErrorKind::destination_denied, "the address is denied"});
  verdict_.join(std::exchange(address_verdict_, {}));
  if (!is_uncounted_) state_.counters.filters.count(verdict_.filter->name, verdict_.filter->action);
  peer_text_.clear();  // nobody is asked
  peer_was_reused_ = false;
  if (decision_id_.empty()) decision_id_ = state_.ids.next();
  deny();
}

void Exchange::answer_error(const HttpError& error) {
  if (snapshot_ == nullptr) {  // no head was understood
    snapshot_ = state_.snapshot;
    times_ = RequestTimes::from_now();
  }
  note_error(error);
  note_refused_target(error.kind);
  // What the rules refuse is counted among the errors alone, whatever the filters said of it.
  if (is_refusal(error.kind) && std::exchange(is_uncounted_, false)) count_questions();
  const bool close = facts(error.kind).must_close || is_refused_connect() || !may_keep_after_local_answer();
  GatheredWrite answer(state_.gather);
  write_error(answer.head(), error, reply_context(close));
  answer_local(answer, facts(error.kind).status, close);
}

void Exchange::answer_trace() {
  GatheredWrite answer(state_.gather);
  write_trace_reply(answer.head(), request_.head(), reply_context(!may_keep_after_local_answer()));
  answer_local(answer, 200, false);
}

void Exchange::answer_options() {
  GatheredWrite answer(state_.gather);
  write_options_reply(answer.head(), reply_context(!may_keep_after_local_answer()));
  answer_local(answer, 200, false);
}

// A URL that cannot be judged has a verdict of its own.
void Exchange::note_refused_target(ErrorKind kind) {
  if (kind != ErrorKind::bad_target && kind != ErrorKind::ambiguous_path) return;
  verdict_.decision = filter::Decision::rejected;
  verdict_.reason = filter::VerdictReason::bad_url;
  const MethodClass method = head_known_ ? class_of(request_.head().method) : MethodClass::other;
  state_.counters.count_request(method, verdict_.decision, verdict_.reason);
}

// After a CONNECT that failed clients go on in the tunnel's protocol, or close.
bool Exchange::is_refused_connect() const { return head_known_ && is_connect(); }

// What is left of the request is dropped as it comes.
void Exchange::answer_local(GatheredWrite& answer, int status, bool must_close) {
  count_verdict();
  status_ = is_unasked_ ? 0 : status;
  if (is_unasked_) answer.clear();
  answered_here_ = true;
  response_state_ = ResponseState::complete;
  connector_.cancel();
  release_upstream(Reuse::never);
  answer.flush(client(), false);
  const bool keep = !must_close && may_keep_after_local_answer();
  if (!keep) return end(After::close);
  if (request_state_ == RequestState::complete) return end(After::keep);
  request_state_ = RequestState::body;
  deadline_.set(std::min(kDrainTime, snapshot_->settings.timeouts.body));
  release_client();
}

}  // namespace bloomwall::proxy
