// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/http2_origin_stream.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "proxy/http/rewrite.h"
#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {
namespace {

constexpr std::string_view kLastChunk = "0\r\n";

}  // namespace

Http2OriginStream::Http2OriginStream(IoContext& io, Http2Connection& connection, const Transport& carrier,
                                     Readers& readers, Beside& beside, Owner& owner, Handler& handler)
    : Transport(io, handler),
      connection_(connection),
      carrier_(carrier),
      readers_(readers),
      beside_(beside),
      owner_(owner),
      request_(readers.take()),
      outbox_(io.pool),
      last_active_(monotonic_now()),
      last_sent_(last_active_) {
  wake_.assign(
      io.loop.base(), -1, 0,
      [](evutil_socket_t, short, void* self) { static_cast<Http2OriginStream*>(self)->on_wake(); }, this);
}

Http2OriginStream::~Http2OriginStream() = default;

void Http2OriginStream::release() {
  if (end_is_given_ && id_ != 0 && !std::exchange(is_detached_, true)) connection_.release(id_);
  close();
}

void Http2OriginStream::close() {
  is_open_ = false;
  leave();
  wake_.disarm();
  if (id_ != 0 && !std::exchange(is_detached_, true)) connection_.reset(id_, Http2Code::cancel);
  inbox_.clear();
  outbox_.clear();
  if (request_ != nullptr) readers_.give(std::move(request_));
}

Transport::Arrived Http2OriginStream::arrived() const {
  if (!inbox_.empty()) return Arrived::octets;
  return read_ended_ || !is_open_ ? Arrived::end : Arrived::nothing;
}

// --- the request

void Http2OriginStream::send(std::span<const iovec> pieces) {
  if (!is_open_ || is_detached_) return;
  for (const iovec& piece : pieces) {
    bytes_out_ += piece.iov_len;
    take_request({static_cast<const char*>(piece.iov_base), piece.iov_len});
  }
  if (failure_ != 0) return;
  if (has_head_ && id_ == 0) return submit();
  if (id_ != 0) connection_.resume(id_);
  outbox_.expect_drain();
}

void Http2OriginStream::take_request(std::span<const char> octets) {
  while (failure_ == 0) {
    const auto step = request_->reader.feed(octets);
    if (!step) return fail_later(EPROTO);
    octets = octets.subspan(step->consumed);
    switch (step->event) {
      case ReadEvent::head:
        has_head_ = true;
        if (!request_->count()) fail_later(ENOBUFS);
        break;
      case ReadEvent::body:
        if (!outbox_.append(step->body)) fail_later(ENOBUFS);
        break;
      case ReadEvent::end:
        outbox_.end();
        if (!octets.empty()) fail_later(EPROTO);  // another request has no place here
        return;
      case ReadEvent::interim:
      case ReadEvent::need_more:
        return;
    }
  }
}

void Http2OriginStream::submit() {
  const RequestHead& head = request_->reader.head();
  method_ = head.method;
  std::vector<Http2Field> fields;
  list_request(fields, head);
  mark_never_indexed(fields, beside_.request.never_indexed);
  const bool is_all = outbox_.is_ended() && outbox_.empty() && trailers().empty();
  id_ = connection_.submit_request(fields, !is_all, *this);
  end_is_given_ = is_all;
  if (id_ == 0) return fail_later(ECONNREFUSED);
  outbox_.expect_drain();
}

Http2Connection::Stream::Supply Http2OriginStream::supply(std::span<char> room) {
  const Supply given = outbox_.supply(room);
  if (given.octets > 0) last_active_ = last_sent_ = monotonic_now();
  end_is_given_ = end_is_given_ || given.is_end;
  if (outbox_.was_drained() || given.is_end) tell_drained();
  return given;
}

void Http2OriginStream::list_trailers(std::vector<Http2Field>& out) { proxy::list_trailers(out, trailers()); }

std::span<const Field> Http2OriginStream::trailers() const {
  const std::span<const Field> chunked = request_->reader.trailers();
  return chunked.empty() ? beside_.request.trailers.fields() : chunked;
}

// --- the answer

void Http2OriginStream::on_head(const Http2FieldList& list, bool is_end) {
  last_active_ = monotonic_now();
  Http2Answer answer;
  beside_.answer.never_indexed.clear();  // of an interim one
  note_never_indexed(beside_.answer.never_indexed, list);
  if (write_answer_text(list, {method_, is_end}, text_, answer)) return fail_later(EPROTO);
  if (answer.status >= 200) {
    is_chunked_ = answer.is_chunked;
    body_left_ = answer.length;
    beside_.answer.trailers.clear();
  }
  if (is_end && is_chunked_) text_.append(kLastChunk).append(kChunkTail);
  give(text_);
  if (is_end) end_answer();
}

void Http2OriginStream::on_data(std::span<const char> octets) {
  if (octets.empty()) return;
  last_active_ = monotonic_now();
  unconsumed_ += octets.size();
  ChunkHead frame;
  if (is_chunked_) give(chunk_head(octets.size(), frame));
  is_chunked_ ? give({octets.data(), octets.size()}) : give_counted(octets);
  if (is_chunked_) give(kChunkTail);
  consume_used();
}

// A body that is counted ends with its last octet for whoever reads it, but trailers may follow.
void Http2OriginStream::give_counted(std::span<const char> octets) {
  const bool is_all = body_left_ > 0 && octets.size() >= body_left_;
  body_left_ -= std::min<std::uint64_t>(body_left_, octets.size());
  if (is_all) last_octet_ = octets.back();
  give({octets.data(), octets.size() - (is_all ? 1 : 0)});
}

void Http2OriginStream::on_trailers(const Http2FieldList& list) {
  if (!is_chunked_) {
    if (!beside_.answer.trailers.read(list, Http2Sender::origin, {})) fail_later(EPROTO);
    return;
  }
  text_.assign(kLastChunk);
  if (write_trailer_lines(list, Http2Sender::origin, text_)) return fail_later(EPROTO);
  give(text_);
  is_chunked_ = false;  // it has its end
}

void Http2OriginStream::on_end() {
  if (failure_ != 0) return;
  if (is_chunked_) give("0\r\n\r\n");
  if (last_octet_) give({&*last_octet_, 1});
  end_answer();
}

void Http2OriginStream::give(std::string_view text) {
  if (is_open_ && failure_ == 0) take({text.data(), text.size()});
}

void Http2OriginStream::end_answer() {
  if (is_open_) read_ended_ = true;
}

// Octets of the chunked framing do not count: of those that are kept, they are taken for some of the body.
void Http2OriginStream::consume_used() {
  if (is_detached_) return;
  const std::size_t kept = std::min(unconsumed_, inbox_.size());
  connection_.consume(id_, std::exchange(unconsumed_, kept) - kept);
}

// The handler is told later: nghttp2 is on the stack.
void Http2OriginStream::tell_drained() {
  is_drained_ = true;
  wake_.trigger();
}

void Http2OriginStream::on_closed(Http2Code code, bool is_at_fault) {
  is_detached_ = true;
  if (!is_open_) return;
  if (read_ended_) return tell_drained();  // it takes no more
  if (code == Http2Code::http_1_1_required) {
    fail_later(kWantsHttp11);
    return owner_.on_http11_wanted();
  }
  fail_later(is_at_fault ? EPROTO : code == Http2Code::refused_stream ? ECONNREFUSED : ECONNRESET);
}

// The exchange, or nghttp2, may be on the stack.
void Http2OriginStream::fail_later(int error) {
  if (failure_ == 0) failure_ = error;
  wake_.trigger();
}

void Http2OriginStream::on_wake() {
  if (!is_open_) return;
  if (failure_ != 0) return fail_read(failure_);
  if (std::exchange(is_drained_, false)) handler_->on_drained();
  if (!is_open_) return;
  deliver_inbox();
  consume_used();
}

}  // namespace bloomwall::proxy
