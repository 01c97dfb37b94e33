// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/http2_connection.h"

#include <algorithm>
#include <new>
#include <utility>

#include "proxy/http2/nghttp2_parts.h"

namespace bloomwall::proxy {
namespace {

constexpr std::uint32_t kLeastWindow = 65'535;  // octets, RFC 9113 section 6.9.2
constexpr std::size_t kPreface = 24;            // octets before a client's first frame
constexpr std::size_t kMostQueued = 256;        // frames without bodies that wait for the peer
constexpr std::size_t kMostReleased = 32;       // streams of answers that are whole and have not ended

const char* to_string(FrameBudget::Verdict verdict) {
  switch (verdict) {
    case FrameBudget::Verdict::fine:
      return "";
    case FrameBudget::Verdict::empty_frames:
      return "a flood of frames that ask for nothing";
    case FrameBudget::Verdict::endless_head:
      return "a header section far over its limit";
    case FrameBudget::Verdict::resets:
      return "a flood of streams that were reset";
  }
  return "";
}

}  // namespace

// nghttp2's callbacks: doors to the members of the connection.
struct Http2Connection::Callbacks {
  static Http2Connection& of(void* user) { return *static_cast<Http2Connection*>(user); }
  static Nghttp2CallbacksPtr make();

  static int on_begin_headers(nghttp2_session*, const nghttp2_frame*, void* user) {
    of(user).list_.trim();
    of(user).list_.begin(of(user).head_limits_);
    return 0;
  }
  static int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t flags, void* user) {
    const Http2Field field{{reinterpret_cast<const char*>(name), name_size},
                           {reinterpret_cast<const char*>(value), value_size},
                           (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0};
    if (of(user).list_.add(field)) return 0;
    of(user).note_flood(FrameBudget::Verdict::endless_head);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  static int on_frame_recv(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_data_chunk(nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                           std::size_t size, void* user);
  static int on_stream_close(nghttp2_session* session, std::int32_t id, std::uint32_t code, void* user) {
    // Whatever code the peer's reset has.
    if (nghttp2_session_get_stream_local_close(session, id) == 1) of(user).budget_.on_stream_done();
    of(user).on_stream_closed(id, code);
    return 0;
  }
  static int on_frame_send(nghttp2_session* session, const nghttp2_frame* frame, void* user);
  static int on_frame_not_send(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    const bool is_request = frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    if (is_request) of(user).on_stream_closed(frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    return 0;
  }
  static ssize_t supply(nghttp2_session* session, std::int32_t id, std::uint8_t* room, std::size_t size,
                        std::uint32_t* flags, nghttp2_data_source*, void* user);
};

void Http2Connection::Session::operator()(nghttp2_session* session) const noexcept { nghttp2_session_del(session); }

Nghttp2CallbacksPtr Http2Connection::Callbacks::make() {
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) throw std::bad_alloc();
  Nghttp2CallbacksPtr callbacks(made);
  nghttp2_session_callbacks_set_on_begin_headers_callback(made, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(made, on_header);
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
      break;
    case NGHTTP2_DATA:
      if (Stream* const stream = is_end ? self.find(id) : nullptr) stream->on_end();
      break;
    case NGHTTP2_RST_STREAM:
      if (self.role_ == Role::server) self.note_flood(self.budget_.on_reset(self.now_));
      break;
    case NGHTTP2_GOAWAY:
      self.is_ending_ = true;
      self.handler_.on_goaway();
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
  found->second.stream->on_data({reinterpret_cast<const char*>(data), size});
  return 0;
}

int Http2Connection::Callbacks::on_frame_send(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  Http2Connection& self = of(user);
  const Http2StreamId id = frame->hd.stream_id;
  if (frame->hd.type == NGHTTP2_HEADERS) self.budget_.on_head_sent();
  const bool has_end = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
  if (has_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) self.on_stream_end(id);
  if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR && self.why_ == nullptr) {
    self.why_ = nghttp2_http2_strerror(frame->goaway.error_code);
  }
  // One that nghttp2 resets has broken a rule: our own resets are marked.
  const bool is_by_nghttp2 =
      frame->hd.type == NGHTTP2_RST_STREAM && nghttp2_session_get_stream_user_data(session, id) == nullptr;
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
    if (!nvs.empty() && nghttp2_submit_trailer(session, id, nvs.data(), nvs.size()) == 0) {
      *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    }
  }
  return static_cast<ssize_t>(given.octets);
}

Http2Connection::Http2Connection(Role role, const Limits& limits, Handler& handler, Memory& memory)
    : role_(role),
      handler_(handler),
      memory_(memory),
      budget_(role == Role::server ? kPreface : 0, most_compressed(limits.head)),
      head_limits_(limits.head) {
  const Nghttp2CallbacksPtr callbacks = Callbacks::make();
  const Nghttp2OptionsPtr options = make_nghttp2_options(role, limits);
  nghttp2_mem hooks = nghttp2_memory(memory_);
  nghttp2_session* made = nullptr;
  const auto make = role == Role::server ? nghttp2_session_server_new3 : nghttp2_session_client_new3;
  const bool is_made = make(&made, callbacks.get(), this, options.get(), &hooks) == 0;
  session_.reset(made);
  is_made ? open(limits) : fail("limits.buffer_memory");
}

Http2Connection::~Http2Connection() = default;

void Http2Connection::open(const Limits& limits) {
  const auto clamped = [](std::size_t size) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(size, 1U << 30U));
  };
  std::vector<nghttp2_settings_entry> settings{{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window},
                                               {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, clamped(limits.head.bytes)}};
  if (role_ == Role::server) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams});
    settings.push_back({NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  const int submitted = nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  const auto window = static_cast<std::int32_t>(std::max(limits.streams * limits.stream_window, kLeastWindow));
  if (submitted != 0 || nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, window) != 0) {
    fail("limits.buffer_memory");
  }
}

void Http2Connection::fail(const char* why) {
  if (why_ == nullptr) why_ = why;
  has_failed_ = is_ending_ = true;
}

void Http2Connection::note_flood(FrameBudget::Verdict verdict) {
  if (verdict == FrameBudget::Verdict::fine || flood_ != FrameBudget::Verdict::fine) return;
  flood_ = verdict;
  why_ = to_string(verdict);
}

// Not by a callback: versions of nghttp2 abort then.
void Http2Connection::end_if_due() {
  if (has_failed_) return;
  if (memory_.is_spent()) return fail("limits.buffer_memory");
  if (flood_ == FrameBudget::Verdict::fine || std::exchange(is_terminated_, true)) return;
  is_ending_ = true;
  nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
  handler_.on_output();
}

void Http2Connection::feed(std::span<const char> bytes, std::chrono::milliseconds now) {
  if (has_failed_ || bytes.empty()) return;
  now_ = now;
  note_flood(budget_.feed(bytes, now));
  if (flood_ != FrameBudget::Verdict::fine) return end_if_due();
  const ssize_t used =
      nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used < 0) fail(nghttp2_strerror(static_cast<int>(used)));
  end_if_due();
  handler_.on_output();  // acknowledgements
}

void Http2Connection::write(std::string& out, std::size_t enough) {
  while (out.size() < enough) {
    end_if_due();
    if (has_failed_) return;
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &data);
    if (size < 0) return fail(nghttp2_strerror(static_cast<int>(size)));
    if (size == 0) return;
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
}

bool Http2Connection::has_much_to_write() const {
  return !has_failed_ && nghttp2_session_get_outbound_queue_size(session_.get()) > kMostQueued;
}

bool Http2Connection::is_over() const {
  if (has_failed_) return true;
  return nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0;
}

Http2Connection::Stream* Http2Connection::find(Http2StreamId id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.stream;
}

// A header section is complete: in list_.
void Http2Connection::on_fields(Http2StreamId id, bool is_request, bool is_end) {
  if (flood_ != FrameBudget::Verdict::fine) return;  // the end is near
  if (is_request) {
    handler_.on_request(id, list_, is_end);
    if (find(id) == nullptr) reset(id, Http2Code::refused_stream);
    return;
  }
  Stream* const stream = find(id);
  if (stream == nullptr) return;
  if (role_ == Role::client && list_.find(":status")) return stream->on_head(list_, is_end);
  stream->on_trailers(list_);
  if (Stream* const still = find(id)) still->on_end();
}

void Http2Connection::on_stream_end(Http2StreamId id) {
  const auto found = streams_.find(id);
  if (found != streams_.end() && found->second.resets_after_end) reset_rest(id);
}

void Http2Connection::reset_rest(Http2StreamId id) {
  nghttp2_session_set_stream_user_data(session_.get(), id, this);  // marks the reset as ours
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
  handler_.on_output();
}

// What its stream had not consumed must not be missing from the connection's window for ever.
void Http2Connection::on_stream_closed(Http2StreamId id, std::uint32_t code) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const Entry entry = found->second;
  streams_.erase(found);
  nghttp2_session_consume_connection(session_.get(), entry.unconsumed);
  entry.stream->on_closed(static_cast<Http2Code>(code));
}

void Http2Connection::submit_interim(Http2StreamId id, std::span<const Http2Field> list) {
  if (has_failed_) return;
  const std::vector<nghttp2_nv> nvs = nghttp2_list(list);
  nghttp2_submit_headers(session_.get(), NGHTTP2_FLAG_NONE, id, nullptr, nvs.data(), nvs.size(), nullptr);
  handler_.on_output();
}

void Http2Connection::submit_answer(Http2StreamId id, std::span<const Http2Field> list, bool has_body) {
  if (has_failed_) return;
  const std::vector<nghttp2_nv> nvs = nghttp2_list(list);
  const nghttp2_data_provider body{.source = {}, .read_callback = Callbacks::supply};
  if (nghttp2_submit_response(session_.get(), id, nvs.data(), nvs.size(), has_body ? &body : nullptr) != 0) {
    fail("limits.buffer_memory");
  }
  handler_.on_output();
}

Http2StreamId Http2Connection::submit_request(std::span<const Http2Field> list, bool has_body, Stream& stream) {
  if (has_failed_ || is_ending_) return 0;
  // Those that wait for the peer's SETTINGS_MAX_CONCURRENT_STREAMS are kept by nghttp2, even when they were reset.
  if (nghttp2_session_get_outbound_queue_size(session_.get()) > kMostQueued) return 0;
  const std::vector<nghttp2_nv> nvs = nghttp2_list(list);
  const nghttp2_data_provider body{.source = {}, .read_callback = Callbacks::supply};
  const Http2StreamId id =
      nghttp2_submit_request(session_.get(), nullptr, nvs.data(), nvs.size(), has_body ? &body : nullptr, nullptr);
  if (id <= 0) return 0;
  attach(id, stream);
  handler_.on_output();
  return id;
}

void Http2Connection::attach(Http2StreamId id, Stream& stream) { streams_[id] = Entry{.stream = &stream}; }

void Http2Connection::detach(Http2StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const std::size_t unconsumed = found->second.unconsumed;
  streams_.erase(found);
  if (!has_failed_) nghttp2_session_consume_connection(session_.get(), unconsumed);
  handler_.on_output();
}

void Http2Connection::resume(Http2StreamId id) {
  if (has_failed_) return;
  nghttp2_session_resume_data(session_.get(), id);  // where it was deferred
  handler_.on_output();
}

void Http2Connection::consume(Http2StreamId id, std::size_t octets) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || octets == 0 || has_failed_) return;
  const std::size_t known = std::min(octets, found->second.unconsumed);
  found->second.unconsumed -= known;
  nghttp2_session_consume(session_.get(), id, known);
  handler_.on_output();
}

void Http2Connection::reset(Http2StreamId id, Http2Code code) {
  detach(id);
  if (has_failed_) return;
  nghttp2_session_set_stream_user_data(session_.get(), id, this);  // marks the reset as ours
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, static_cast<std::uint32_t>(code));
  handler_.on_output();
}

bool Http2Connection::is_ended_by_peer(Http2StreamId id) const {
  return nghttp2_session_get_stream_remote_close(session_.get(), id) != 0;  // -1: it is gone
}

void Http2Connection::release(Http2StreamId id) {
  detach(id);
  if (has_failed_) return;
  released_.push_back(id);
  while (!released_.empty()) {
    const Http2StreamId oldest = released_.front();
    const bool has_ended = is_ended_by_peer(oldest);
    if (!has_ended && released_.size() <= kMostReleased) return;
    released_.pop_front();
    if (!has_ended) reset(oldest, Http2Code::cancel);
  }
}

void Http2Connection::reset_after_answer(Http2StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || has_failed_) return;
  found->second.resets_after_end = true;
  if (nghttp2_session_get_stream_local_close(session_.get(), id) == 1) reset_rest(id);
}

void Http2Connection::announce_end() {
  if (std::exchange(is_ending_, true) || has_failed_) return;
  if (role_ == Role::server) nghttp2_submit_shutdown_notice(session_.get());
  handler_.on_output();
}

// Behind resets that wait: a client must learn which of its requests were not processed.
void Http2Connection::finish() {
  is_ending_ = true;
  if (has_failed_) return;
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_.get()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  handler_.on_output();
}

void Http2Connection::close_streams() {
  for (const auto& [id, entry] : std::exchange(streams_, {})) entry.stream->on_closed(Http2Code::cancel);
}

}  // namespace bloomwall::proxy
