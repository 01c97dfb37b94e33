// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/http2_callbacks.h"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>

#include "proxy/http/octets.h"

namespace bloomwall::proxy {

int Http2Connection::Callbacks::on_begin_headers(nghttp2_session*, const nghttp2_frame*, void* user) {
  of(user).list_.trim();
  of(user).list_.begin(of(user).limits_.head);
  of(user).count_list();
  return 0;
}

int Http2Connection::Callbacks::on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
                                          std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                                          std::uint8_t flags, void* user) {
  const Http2Field field{{reinterpret_cast<const char*>(name), name_size},
                         {reinterpret_cast<const char*>(value), value_size},
                         (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0};
  const bool is_added = of(user).list_.add(field);
  of(user).count_list();
  if (is_added) return 0;
  of(user).note_flood(FrameBudget::Verdict::endless_head);
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

// Browsers and servers read control octets in a value as any others; only NUL, CR and LF must not stand there (RFC 9113
// section 8.2.1). Of an answer they are blanks, as in HTTP/1.
int Http2Connection::Callbacks::on_invalid_header(nghttp2_session* session, const nghttp2_frame* frame,
                                                  const std::uint8_t* name, std::size_t name_size,
                                                  const std::uint8_t* value, std::size_t value_size, std::uint8_t flags,
                                                  void* user) {
  std::string text(reinterpret_cast<const char*>(value), value_size);
  constexpr std::string_view kNever("\0\r\n", 3);
  if (nghttp2_check_header_name(name, name_size) == 0 || text.find_first_of(kNever) != std::string::npos) {
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_PROTOCOL_ERROR);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  std::ranges::replace_if(text, is_control, ' ');
  const std::string_view kept = trim(text);
  return on_header(session, frame, name, name_size, reinterpret_cast<const std::uint8_t*>(kept.data()), kept.size(),
                   flags, user);
}

int Http2Connection::Callbacks::on_stream_close(nghttp2_session* session, std::int32_t id, std::uint32_t code,
                                                void* user) {
  // Whatever code the peer's reset has.
  if (nghttp2_session_get_stream_local_close(session, id) == 1) of(user).budget_.on_stream_done();
  of(user).on_stream_closed(id, code);
  return 0;
}

int Http2Connection::Callbacks::on_frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
  const Http2StreamId id = frame->hd.stream_id;
  if (frame->hd.type == NGHTTP2_RST_STREAM) of(user).own_resets_.erase(id);
  const bool is_request = frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
  if (is_request) of(user).on_stream_closed(id, NGHTTP2_REFUSED_STREAM);
  return 0;
}

Nghttp2CallbacksPtr Http2Connection::Callbacks::make(Role role) {
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
  Nghttp2CallbacksPtr callbacks(made);
  nghttp2_session_callbacks_set_on_begin_headers_callback(made, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(made, on_header);
  if (role == Role::client) nghttp2_session_callbacks_set_on_invalid_header_callback(made, on_invalid_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(made, on_frame_recv);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, on_data_chunk);
  nghttp2_session_callbacks_set_on_stream_close_callback(made, on_stream_close);
  nghttp2_session_callbacks_set_on_frame_send_callback(made, on_frame_send);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(made, on_frame_not_send);
  return callbacks;
}

int Http2Connection::Callbacks::on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Http2Connection& self = of(user);
  const Http2StreamId id = frame->hd.stream_id;
  const bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
      self.on_fields(id, frame->headers.cat == NGHTTP2_HCAT_REQUEST, is_end);
      self.list_.trim();
      self.count_list();
      break;
    case NGHTTP2_DATA:
      if (Stream* const stream = is_end ? self.find(id) : nullptr) stream->on_end();
      break;
    case NGHTTP2_RST_STREAM:
      if (self.role_ == Role::server) self.note_flood(self.budget_.on_reset(self.now_));
      break;
    case NGHTTP2_GOAWAY:
      self.is_ending_ = true;
      self.handler_.on_goaway(static_cast<Http2Code>(frame->goaway.error_code));
      break;
    default:
      break;
  }
  return 0;
}

int Http2Connection::Callbacks::on_data_chunk(nghttp2_session* session, std::uint8_t, std::int32_t id,
                                              const std::uint8_t* data, std::size_t size, void* user) {
  const auto found = of(user).streams_.find(id);
  if (found == of(user).streams_.end()) return nghttp2_session_consume(session, id, size);
  found->second.unconsumed += size;
  of(user).owed_ += size;
  of(user).pay_window();
  found->second.stream->on_data({reinterpret_cast<const char*>(data), size});
  return 0;
}

int Http2Connection::Callbacks::on_frame_send(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  Http2Connection& self = of(user);
  const Http2StreamId id = frame->hd.stream_id;
  if (frame->hd.type == NGHTTP2_HEADERS) self.budget_.on_head_sent();
  const bool has_end = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
  if (has_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self.on_stream_end(id);
  if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
    self.is_peer_at_fault_ = true;
    if (self.why_ == nullptr) self.why_ = nghttp2_http2_strerror(frame->goaway.error_code);
  }
  if (frame->hd.type == NGHTTP2_RST_STREAM) self.reset_here_ = id;
  // One that nghttp2 resets has broken a rule.
  const bool is_by_nghttp2 = frame->hd.type == NGHTTP2_RST_STREAM && self.own_resets_.erase(id) == 0;
  if (is_by_nghttp2 && self.role_ == Role::server) self.note_flood(self.budget_.on_reset(self.now_));
  return 0;
}

ssize_t Http2Connection::Callbacks::supply(nghttp2_session* session, std::int32_t id, std::uint8_t* room,
                                           std::size_t size, std::uint32_t* flags, nghttp2_data_source*, void* user) {
  Http2Connection& self = of(user);
  Stream* const stream = self.find(id);
  if (stream == nullptr) return NGHTTP2_ERR_DEFERRED;  // its reset is on the way
  const Stream::Supply given = stream->supply({reinterpret_cast<char*>(room), size});
  if (given.octets == 0 && !given.is_end) return NGHTTP2_ERR_DEFERRED;
  self.budget_.on_body_sent(given.octets, given.octets < size);
  if (given.is_end) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    stream->list_trailers(self.trailers_);
    const std::vector<nghttp2_nv> nvs = nghttp2_list(self.trailers_);
    if (!nvs.empty()) {  // without them it must not look whole
      if (nghttp2_submit_trailer(session, id, nvs.data(), nvs.size()) != 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    }
  }
  return static_cast<ssize_t>(given.octets);
}

}  // namespace bloomwall::proxy
