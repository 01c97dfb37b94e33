// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/exchange.h"

#include <algorithm>
#include <utility>

#include "proxy/http/serialise.h"

namespace bloomwall::proxy {
namespace {

constexpr HttpError kNoMemory{ErrorKind::connection_limit, "limits.buffer_memory"};

}  // namespace

Exchange::Exchange(WorkerState& state)
    : state_(state),
      request_(state.request_limits),
      response_(state.response_limits),
      connector_(state.dial, *this),
      deadline_(
          state.io.loop.timers(), [](void* self) { static_cast<Exchange*>(self)->on_deadline(); }, this),
      heads_(state.io.pool) {}

Exchange::~Exchange() { cancel_page_wait(); }

void Exchange::begin(Owner& owner) {
  owner_ = &owner;
  if (request_.at_end()) {
    request_.next();
  } else if (broken_ || !request_.at_start()) {
    request_ = RequestReader(state_.request_limits);
  }
  broken_ = false;
  request_state_ = RequestState::head;
  response_state_ = ResponseState::none;
  head_known_ = answered_here_ = is_unasked_ = is_named_by_hello_ = retried_ = to_parent_ = has_error_ =
      upload_stopped_ = false;
  has_waited_for_pages_ = is_uncounted_ = false;
  verdict_ = {};
  address_verdict_ = {};
  decision_id_ = {};
  plan_ = {};
  status_ = 0;
  body_received_ = 0;
  host_.clear();
  url_.clear();
  content_type_.clear();
  peer_text_.clear();
  peer_was_reused_ = answered_early_ = false;
  sent_before_ = owner.client_transport().bytes_out();
}

void Exchange::shrink() {
  constexpr std::size_t kKept = std::size_t{16} * 1024;
  if (request_.memory() > kKept) request_ = RequestReader(state_.request_limits);
  if (response_.memory() > kKept) response_ = ResponseReader(state_.response_limits);
  for (std::string* const text : {&url_, &accept_}) {
    if (text->capacity() > kKept) std::string().swap(*text);
  }
}

void Exchange::begin_unasked_tunnel(Owner& owner, std::string_view authority, bool is_named) {
  begin(owner);
  is_unasked_ = true;
  is_named_by_hello_ = is_named;
  std::string head("CONNECT ");
  head.append(authority).append(" HTTP/1.1\r\nHost: ").append(authority).append("\r\n\r\n");
  on_client_data(head);
}

std::size_t Exchange::on_client_data(std::span<const char> bytes) {
  GatheredWrite out(state_.gather);  // for the origin
  std::size_t used = 0;
  while (!is_over()) {
    const auto step = request_.feed(bytes.subspan(used));
    if (!step) {
      fail_request(step.error());
      return bytes.size();  // nothing after it can be trusted
    }
    used += step->consumed;
    switch (step->event) {
      case ReadEvent::need_more:
      case ReadEvent::interim:  // only responses have those
        flush_upload(out);
        if (!is_over() && !count_heads()) fail_request(kNoMemory);
        return used;
      case ReadEvent::head:
        if (!on_head(out)) return used;
        if (request_state_ == RequestState::awaiting_upstream && request_.head().framing != BodyFraming::none) {
          client().pause(PauseReason::not_ready);
          return used;
        }
        break;
      case ReadEvent::body:
        upload(out, step->body);
        break;
      case ReadEvent::end:
        client().pause(PauseReason::busy);  // the next request waits for this one's answer
        on_request_complete(out);
        return used;
    }
  }
  return used;
}

// What the client sends is no request any more.
void Exchange::fail_request(const HttpError& error) {
  broken_ = true;
  if (answered_here_) return end(After::close);
  if (response_state_ == ResponseState::body) return break_off();
  answer_error(error);
}

// The answer cannot be completed. Where its framing would not show that, a reset must.
void Exchange::break_off() { end(plan_.framing == BodyFraming::until_close ? After::cut : After::close); }

bool Exchange::on_head(GatheredWrite& out) {
  head_known_ = true;
  snapshot_ = state_.snapshot;
  times_ = RequestTimes::from_now();
  owner_->on_head_read();
  rate_.begin(0);
  request_state_ = RequestState::body;  // unless it must wait for the origin
  if (!count_heads()) {
    answer_error(kNoMemory);
    return !is_over();
  }
  if (const auto refusal = refuse_client()) {
    answer_error(*refusal);
    return !is_over();
  }
  decide(out);
  return !is_over();
}

void Exchange::use(UpstreamPtr upstream) {
  upstream_ = std::move(upstream);
  if (upstream_ == nullptr) return;
  peer_text_ = upstream_->peer_text;
  peer_was_reused_ = upstream_->reused;
}

void Exchange::release_upstream(Reuse reuse) {
  if (upstream_ == nullptr) return;
  if (reuse != Reuse::never && upstream_->transport->gate().open() && upstream_->transport->backlog() == 0) {
    if (is_inside()) return owner_->keep_inner(std::move(upstream_));
    if (snapshot_->generation >= state_.routes_since) {
      const Standing standing = reuse == Reuse::rested ? Standing::suspect : Standing::clear;
      return state_.upstreams.put(std::move(upstream_), standing, snapshot_->settings.timeouts.idle);
    }
  }
  upstream_->transport->close();
  state_.io.loop.graveyard().bury(std::move(upstream_));
}

void Exchange::end(After after) {
  if (is_over()) return;
  count_verdict();
  write_log();
  cancel_page_wait();
  deadline_.clear();
  heads_.set(0);
  connector_.cancel();
  release_upstream(Reuse::never);
  release_client();
  Owner& owner = *std::exchange(owner_, nullptr);
  snapshot_.reset();
  owner.on_exchange_end(after);  // last: the owner puts us to rest
}

// Nothing that it waited for keeps the client from being read any more.
void Exchange::release_client() {
  client().resume(PauseReason::not_ready | PauseReason::peer_full | PauseReason::busy);
}

void Exchange::on_client_end() {
  if (is_over()) return;
  if (request_state_ == RequestState::complete) return;  // it still wants its answer
  if (request_state_ == RequestState::head || answered_here_) {
    broken_ = true;  // what was read, be it part of an empty line, is not the beginning of anybody else's request
    return end(After::close);
  }
  if (response_state_ == ResponseState::body) return;
  note_error({ErrorKind::client_gone, "the client ended its side in the middle of the request's body"});
  end(After::cut);  // an upload cut short is completed nowhere
}

void Exchange::on_client_drained() {
  if (upstream_ != nullptr) upstream_->transport->resume(PauseReason::peer_full);
}

void Exchange::abandon() {
  if (is_over()) return;
  broken_ = true;
  end(After::cut);
}

void Exchange::on_client_gone() {
  if (is_over()) return;
  if (!answered_here_ && !has_error_) note_error({ErrorKind::client_gone, "the client reset its connection"});
  abandon();
}

// What must not take longer, whatever moves meanwhile.
void Exchange::on_deadline() {
  if (is_over()) return;
  if (page_wait_ != nullptr) {
    cancel_page_wait();
    answer_error({ErrorKind::filter_late, "pages of a filter did not come within timeouts.connect"});
  } else if (answered_here_) {
    broken_ = true;
    end(After::close);
  } else if (upstream_ != nullptr && upstream_->transport->tls() != nullptr &&
             !upstream_->transport->tls()->is_established()) {
    fail_response({ErrorKind::connect_timeout, "no TLS with the parent proxy within timeouts.connect"});
  }
}

void Exchange::on_head_timeout() {
  if (is_over()) return;
  broken_ = true;
  if (request_.at_start()) return end(After::close);
  answer_error({ErrorKind::request_timeout, "timeouts.request_header"});
}

// An origin that has all there is of the request owes a head: neither octets of one that drip in nor interim answers are
// progress, or it could hold a client for ever.
Milliseconds Exchange::last_progress() const {
  const Milliseconds client = owner_->client_transport().last_active();
  if (upstream_ == nullptr) return client;
  const Transport& origin = *upstream_->transport;
  if (response_state_ != ResponseState::awaited || origin.backlog() > 0) return std::max(client, origin.last_active());
  return request_state_ == RequestState::complete ? asked_at_ : std::max(client, asked_at_);
}

// Whom everybody waits for.
HttpError Exchange::late_answer() const {
  if (request_state_ == RequestState::complete) return {ErrorKind::upstream_timeout, "timeouts.response_header"};
  if (upstream_ != nullptr && upstream_->transport->backlog() > 0) {
    return {ErrorKind::upstream_timeout, "the origin does not take the request's body"};
  }
  return {ErrorKind::request_timeout, "the request's body stands still, or is slower than limits.least_rate"};
}

// Whether somebody must send or take octets just now. An answer of unknown length may be a stream of events, which is slow
// by nature as long as the client takes it.
bool Exchange::owes_octets() {
  if (answered_here_) return false;  // has a deadline
  if (request_state_ == RequestState::body) return true;
  if (response_state_ != ResponseState::body) return false;
  return client().backlog() > 0 || response_.head().framing == BodyFraming::length;
}

bool Exchange::is_too_slow() {
  std::uint64_t moved = body_received_ + client().bytes_out() - client().backlog();
  if (upstream_ != nullptr) moved += upstream_->transport->bytes_out() - upstream_->transport->backlog();
  if (!owes_octets()) {
    rate_.begin(moved);
    return false;
  }
  return rate_.fell_short(moved, snapshot_->settings.limits.least_rate, snapshot_->settings.timeouts.body);
}

Milliseconds Exchange::check_progress() {
  const conf::Timeouts& timeouts = snapshot_->settings.timeouts;
  const Milliseconds often = std::min(timeouts.body, timeouts.response_header);  // what is waited for changes
  if (upstream_ == nullptr && !answered_here_) return often;  // the Connector has a deadline of its own
  const bool waits_for_head = request_state_ == RequestState::complete && response_state_ == ResponseState::awaited;
  const Milliseconds limit = waits_for_head ? timeouts.response_header : timeouts.body;
  const Milliseconds still = monotonic_now() - last_progress();
  const bool is_slow = is_too_slow();
  if (still < limit && !is_slow) return std::min(limit - still, often);
  broken_ = true;
  if (response_state_ == ResponseState::awaited) {
    answer_error(late_answer());
    return often;
  }
  if (!answered_here_) {
    const bool client_is_late = client().backlog() > 0;
    note_error({client_is_late ? ErrorKind::client_stalled : ErrorKind::upstream_timeout,
                still < limit    ? "slower than limits.least_rate"
                : client_is_late ? "the client does not read"
                                 : "the body stands still"});
  }
  end(After::cut);
  return often;
}

void Exchange::note_error(const HttpError& error) {
  error_ = error;
  has_error_ = true;
  state_.counters.count_error(error.kind);
  if (decision_id_.empty()) decision_id_ = state_.ids.next();
}

void Exchange::write_log() {
  if (!head_known_ && status_ == 0) return;  // a connection that closed before it asked anything
  const std::chrono::microseconds lasted = times_.lasted();
  state_.counters.count_response(status_, static_cast<std::uint64_t>(lasted.count()));
  if (!state_.log.enabled()) return;
  AccessRecord record = begin_record(owner_->client_info(), times_, lasted);
  record.status = status_;
  record.bytes_sent = client().bytes_out() - sent_before_;
  record.bytes_received = body_received_;
  record.host = host_;
  record.content_type = content_type_;
  record.peer = peer_text_;
  record.peer_is_parent = to_parent_;
  record.reused = peer_was_reused_;
  if (has_error_) {
    record.error = to_string(error_.kind);
    record.detail = error_.detail;
    record.refused = answered_here_ && is_refusal(error_.kind);
  }
  if (head_known_) describe_request(record);
  note_verdict(record, verdict_, decision_id_);
  write_record(state_, record, *snapshot_);
}

// As a person knows it. Inside a tunnel a request that names no host is for the tunnel's.
void Exchange::append_url(std::string& out) const {
  const RequestHead& head = request_.head();
  const ClientInfo::Inside* const inside = owner_->client_info().inside.get();
  const bool is_bare = head.target.form == TargetForm::origin && !head.host;
  if (inside != nullptr && is_bare) {
    out.append("http://").append(inside->host);
    append_port(out, port_in_http_url(inside->port));
  }
  append_display_url(out, head);
}

void Exchange::describe_request(AccessRecord& record) {
  const RequestHead& head = request_.head();
  if (url_.empty()) append_url(url_);
  record.method = head.method_name;
  record.url = url_;
  record.http10 = head.version == Version::http10;
  if (is_named_by_hello_) record.sni = head.target.authority.host;
  record.bytes_received += is_unasked_ ? client().bytes_in() : head.bytes;
  if (const Field* field = find_field(head.fields, FieldId::referer)) record.referer = field->value;
  if (const Field* field = find_field(head.fields, FieldId::user_agent)) record.user_agent = field->value;
}

}  // namespace bloomwall::proxy
