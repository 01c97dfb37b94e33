// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/http2_client_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "proxy/http/fields.h"
#include "proxy/tunnel/interception.h"
#include "proxy/tunnel/tunnel.h"
#include "proxy/upstream/gathered_write.h"

namespace bloomwall::proxy {
namespace {

constexpr unsigned kMostInterims = 16;  // that are passed on

}  // namespace

Http2ClientStream::Http2ClientStream(WorkerState& worker, Owner& owner, Http2Connection& connection, Http2StreamId id)
    : worker_(worker),
      owner_(owner),
      connection_(connection),
      id_(id),
      memory_(worker.io.pool, BufferKind::heads),
      inbox_(worker.io.pool),
      outbox_(worker.io.pool),
      timer_(
          worker.io.loop.timers(), [](void* self) { static_cast<Http2ClientStream*>(self)->on_timer(); }, this),
      last_active_(monotonic_now()) {
  wake_.assign(
      worker.io.loop.base(), -1, 0,
      [](evutil_socket_t, short, void* self) { static_cast<Http2ClientStream*>(self)->on_wake(); }, this);
  worker_.counters.http2_streams_total.add();
}

Http2ClientStream::~Http2ClientStream() = default;

// --- the request

void Http2ClientStream::begin(const Http2FieldList& list, bool is_end) {
  connection_.attach(id_, *this);
  auto error = read_request(list, is_end, worker_.snapshot->settings.limits.header_fields, text_, head_);
  if (!error && !memory_.set(text_.capacity())) error = Exchange::kNoMemory;
  come_.is_understood = !error;
  come_.is_head = list.find(":method") == "HEAD";
  come_.is_told_end = come_.has_end = is_end;
  note_never_indexed(beside_.request.never_indexed, list);
  if (error) connection_.count_fault();  // in HTTP/1.1 its connection would end
  begin_exchange(error);
}

void Http2ClientStream::begin_exchange(const std::optional<HttpError>& error) {
  worker_.requests_in_flight.add();
  const conf::Timeouts& timeouts = worker_.snapshot->settings.timeouts;
  timer_.set(std::min(timeouts.body, timeouts.response_header));  // the first check of progress
  exchange_ = std::make_unique<Exchange>(worker_, *this);
  if (error) return exchange_->fail_request(*error);
  GatheredWrite out(worker_.gather);  // for the origin
  exchange_->begin(out);
  if (exchange_ != nullptr && come_.is_told_end) exchange_->on_body_end(out);
  if (exchange_ != nullptr) exchange_->flush_upload(out);
}

std::uint64_t Http2ClientStream::body_left() const {
  if (head_.framing != BodyFraming::length) return 0;
  return head_.content_length - std::min(head_.content_length, come_.passed_on);
}

// A body whose length is said ends with its last octet for whoever reads it, but trailers may follow.
std::span<const char> Http2ClientStream::hold_last(std::span<const char> octets) {
  come_.octets += octets.size();
  const bool is_last = head_.framing == BodyFraming::length && come_.octets == head_.content_length && !octets.empty();
  if (!is_last || exchange_ == nullptr) return octets;
  come_.last = octets.back();
  return octets.first(octets.size() - 1);
}

// What waits for the exchange counts against the stream's window, so it has a bound.
void Http2ClientStream::on_data(std::span<const char> come) {
  last_active_ = monotonic_now();
  const std::span<const char> octets = hold_last(come);
  if (octets.empty()) return;
  if (exchange_ != nullptr && !(gate_.open() && inbox_.empty())) {
    if (!inbox_.append(octets)) break_later();
    return;
  }
  if (exchange_ != nullptr) pass_on(octets);
  connection_.consume(id_, octets.size());
}

void Http2ClientStream::on_trailers(const Http2FieldList& list) {
  const bool is_well_formed = beside_.request.trailers.read(list, Http2Sender::client, worker_.request_limits);
  if (is_well_formed || exchange_ == nullptr) return;
  connection_.count_fault();
  break_later();
}

void Http2ClientStream::on_end() {
  come_.has_end = true;
  if (come_.last && exchange_ != nullptr && !inbox_.append({&*come_.last, 1})) return break_later();
  deliver();
}

void Http2ClientStream::deliver() {
  while (exchange_ != nullptr && gate_.open() && !inbox_.empty()) {
    const std::span<const char> piece = inbox_.front();
    pass_on(piece);
    if (exchange_ == nullptr) return;  // and the inbox is empty
    inbox_.consume(piece.size());
    connection_.consume(id_, piece.size());
  }
  const bool is_due = come_.has_end && !come_.is_told_end && inbox_.empty() && !is_broken_;
  if (exchange_ == nullptr || !gate_.open() || !is_due) return;
  come_.is_told_end = true;
  GatheredWrite out(worker_.gather);
  exchange_->on_body_end(out);
  if (exchange_ != nullptr) exchange_->flush_upload(out);
}

void Http2ClientStream::pass_on(std::span<const char> piece) {
  come_.passed_on += piece.size();
  GatheredWrite out(worker_.gather);
  exchange_->on_body(out, piece);
  if (exchange_ != nullptr) exchange_->flush_upload(out);
}

void Http2ClientStream::resume(PauseReasons reasons) {
  if (gate_.open() || !gate_.resume(reasons)) return;
  if (exchange_ != nullptr) wake_.trigger();  // not from within the caller
}

// --- the answer

void Http2ClientStream::send(GatheredWrite& out, bool chunked) {
  for (const iovec& piece : out.assemble(chunked)) {
    answered_.octets += piece.iov_len;
    take_answer({static_cast<const char*>(piece.iov_base), piece.iov_len});
  }
  out.clear();
  if (is_closed_ || is_broken_) return;
  if (answered_.has_head && !answered_.head_is_sent) return submit_head();
  if (answered_.head_is_sent) connection_.resume(id_);
  outbox_.expect_drain();
}

void Http2ClientStream::take_answer(std::span<const char> octets) {
  if (answer_ == nullptr) {
    answer_ = worker_.sent_answers.take();
    answer_->reader.start({.method = come_.is_understood ? head_.method : come_.is_head ? Method::head : Method::get});
  }
  std::vector<Http2Field> fields;
  StatusText status;
  while (!is_broken_) {
    const auto step = answer_->reader.feed(octets);
    if (!step) return break_later();
    octets = octets.subspan(step->consumed);
    switch (step->event) {
      case ReadEvent::interim:
        if (++answered_.interims > kMostInterims || connection_.has_much_to_write()) break;  // they are hints
        list_answer(fields, answer_->reader.head(), status);
        connection_.submit_interim(id_, fields);
        break;
      case ReadEvent::head:
        answered_.has_head = true;
        if (!answer_->count()) break_later();
        break;
      case ReadEvent::body:
        if (!outbox_.append(step->body)) break_later();
        break;
      case ReadEvent::end:
        outbox_.end();
        if (!octets.empty() && (come_.is_understood || !come_.is_head)) break_later();
        return;
      case ReadEvent::need_more:
        return;
    }
  }
}

// All that is known by now decides whether HEADERS are the end: gRPC needs that of an answer that is nothing but them.
void Http2ClientStream::submit_head() {
  std::vector<Http2Field> fields;
  StatusText status;
  list_answer(fields, answer_->reader.head(), status);
  mark_never_indexed(fields, beside_.answer.never_indexed);
  answered_.head_is_sent = true;
  const bool is_all = outbox_.is_ended() && outbox_.empty() && answer_trailers().empty();
  connection_.submit_answer(id_, fields, !is_all);
  outbox_.expect_drain();
}

Http2Connection::Stream::Supply Http2ClientStream::supply(std::span<char> room) {
  if (is_broken_) return {};
  const Supply given = outbox_.supply(room);
  if (given.octets > 0) last_active_ = monotonic_now();
  if (outbox_.was_drained() && exchange_ != nullptr) {
    answered_.is_drained = true;
    wake_.trigger();
  }
  return given;
}

void Http2ClientStream::list_trailers(std::vector<Http2Field>& out) { proxy::list_trailers(out, answer_trailers()); }

std::span<const Field> Http2ClientStream::answer_trailers() const {
  const std::span<const Field> chunked = answer_->reader.trailers();
  return chunked.empty() ? beside_.answer.trailers.fields() : chunked;
}

// The exchange, or nghttp2, may be on the stack.
void Http2ClientStream::break_later() {
  is_broken_ = true;
  wake_.trigger();
}

void Http2ClientStream::on_wake() {
  if (is_over_) return;
  if (is_broken_) return exchange_ != nullptr ? exchange_->abandon() : reset(Http2Code::internal_error);
  if (std::exchange(answered_.is_drained, false) && exchange_ != nullptr) exchange_->on_client_drained();
  deliver();
}

// --- the end

void Http2ClientStream::finish(After after) {
  worker_.requests_in_flight.subtract();
  worker_.io.loop.deferred().delete_later(std::move(exchange_));
  if (is_closed_) return end_if_done();
  const bool is_cut = after == After::cut || after == After::close_untold;
  const bool is_whole = !is_cut && outbox_.is_ended() && answered_.head_is_sent && !is_broken_;
  if (!is_whole) {
    // Where there is no answer at all, nothing of the request was processed: it may be sent again.
    if (is_cut || answered_.has_head || is_broken_) return reset(Http2Code::internal_error);
    return reset(owner_.wants_http11() ? Http2Code::http_1_1_required : Http2Code::refused_stream);
  }
  connection_.consume(id_, inbox_.size());
  inbox_.clear();
  if (!come_.has_end) connection_.reset_after_answer(id_);
  rate_.begin(answered_.octets - outbox_.size());
  timer_.set(worker_.snapshot->settings.timeouts.idle);
}

// Where the client has said and got everything, what is left of its request may still be on the way to the origin.
void Http2ClientStream::on_closed(Http2Code, bool) {
  is_closed_ = true;
  if (exchange_ == nullptr) return end_if_done();
  if (!(come_.has_end && is_answered())) exchange_->on_client_gone();
}

bool Http2ClientStream::is_answered() const {
  return answered_.head_is_sent && outbox_.is_ended() && outbox_.empty() && !is_broken_;
}

void Http2ClientStream::cut() {
  is_closed_ = true;
  exchange_ != nullptr ? exchange_->abandon() : end();
}

void Http2ClientStream::reset(Http2Code code) {
  is_closed_ = true;
  connection_.reset(id_, code);
  end();
}

// Nobody waits for more, but the origin perhaps for the rest of the request.
void Http2ClientStream::end_if_done() {
  rest_ == nullptr ? end() : timer_.set(worker_.snapshot->settings.timeouts.idle);
}

void Http2ClientStream::end() {
  if (std::exchange(is_over_, true)) return;
  drop_rest();
  timer_.clear();
  wake_.disarm();
  inbox_.clear();
  outbox_.clear();
  worker_.sent_answers.give(std::move(answer_));
  owner_.on_stream_over(*this);  // last: it has us deleted later
}

void Http2ClientStream::on_timer() {
  if (exchange_ != nullptr) {
    const Milliseconds again = exchange_->check_progress();
    if (exchange_ != nullptr) timer_.set(again);
    return;
  }
  if (is_closed_) return end();  // and the origin does not take the rest of the request
  // The answer is whole, and its client does not take it.
  const conf::Config& settings = worker_.snapshot->settings;
  const Milliseconds left = last_active_ + settings.timeouts.idle - monotonic_now();
  const bool is_slow =
      rate_.fell_short(answered_.octets - outbox_.size(), settings.limits.least_rate, settings.timeouts.idle);
  if (left.count() <= 0 || is_slow) return reset(Http2Code::cancel);
  timer_.set(left);
}

// Inside TLS that is intercepted nothing becomes a tunnel: CONNECT is refused, and HTTP/2 has no upgrades.
void Http2ClientStream::become_tunnel(UpstreamPtr upstream, TunnelStart) {
  keep_inner(std::move(upstream));
  finish(After::cut);
}

void Http2ClientStream::show_page(InterceptionStart) { finish(After::cut); }

// Made by open_inner(), so its transport is a stream.
void Http2ClientStream::keep_inner(UpstreamPtr upstream) {
  rest_ = std::move(upstream);
  rest_->transport->set_handler(rest_handler_);
  if (static_cast<Http2OriginStream&>(*rest_->transport).is_sent()) drop_rest();
}

void Http2ClientStream::on_rest_moved() {
  if (!static_cast<Http2OriginStream&>(*rest_->transport).is_sent()) return;
  drop_rest();
  if (is_closed_) end();
}

// One that has sent all is not reset.
void Http2ClientStream::drop_rest() {
  if (rest_ == nullptr) return;
  static_cast<Http2OriginStream&>(*rest_->transport).release();
  worker_.io.loop.deferred().delete_later(std::move(rest_));
}

}  // namespace bloomwall::proxy
