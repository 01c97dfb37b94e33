// SPDX-License-Identifier: Apache-2.0
#include "proxy/http2/http2_connection.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/names.h"
#include "proxy/http2/http2_callbacks.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kPreface = 24;           // octets before a client's first frame
constexpr std::size_t kMostQueued = 256;       // frames without bodies that wait for the peer, and for each stream one
constexpr std::size_t kMostGrown = 4U << 20U;  // octets that windows of streams have grown by, together
constexpr std::size_t kMostReleased = 32;      // streams of answers that are whole and have not ended

const char* to_string(FrameBudget::Verdict verdict) {
  static constexpr auto kWords =
      name_table<FrameBudget::Verdict>({{FrameBudget::Verdict::fine, ""},
                                        {FrameBudget::Verdict::empty_frames, "a flood of frames that ask for nothing"},
                                        {FrameBudget::Verdict::endless_head, "a header section far over its limit"},
                                        {FrameBudget::Verdict::resets, "a flood of streams that were reset"},
                                        {FrameBudget::Verdict::slow_head, "a header section that does not end"}});
  return kWords.text(verdict);
}

}  // namespace

void Http2Connection::Session::operator()(nghttp2_session* session) const noexcept { nghttp2_session_del(session); }

Http2Connection::Http2Connection(Role role, const Limits& limits, Handler& handler, Memory& memory)
    : role_(role),
      handler_(handler),
      memory_(memory),
      budget_(role == Role::server ? kPreface : 0, most_compressed(limits.head)),
      limits_(limits) {
  const Nghttp2CallbacksPtr callbacks = Callbacks::make(role);
  const Nghttp2OptionsPtr options = make_nghttp2_options(role, limits);
  nghttp2_mem hooks = nghttp2_memory(memory_);
  nghttp2_session* made = nullptr;
  const auto make = role == Role::server ? nghttp2_session_server_new3 : nghttp2_session_client_new3;
  const bool is_made = make(&made, callbacks.get(), this, options.get(), &hooks) == 0;
  session_.reset(made);
  is_made ? open() : fail("limits.buffer_memory");
}

Http2Connection::~Http2Connection() { memory_.give(list_counted_); }

void Http2Connection::open() {
  const auto clamped = [](std::size_t size) {
    return static_cast<std::uint32_t>(std::min<std::size_t>(size, 1U << 30U));
  };
  std::vector<nghttp2_settings_entry> settings{{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.stream_window},
                                               {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, clamped(limits_.head.bytes)}};
  if (role_ == Role::server) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams});
    settings.push_back({NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  const auto window = static_cast<std::int32_t>(limits_.window);
  const int submitted = nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
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
  if (used == NGHTTP2_ERR_FLOODED) flood_ = FrameBudget::Verdict::empty_frames;
  if (used == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) flood_ = FrameBudget::Verdict::endless_head;
  if (used < 0) {
    is_peer_at_fault_ = is_peer_at_fault_ || used != NGHTTP2_ERR_NOMEM;
    fail(nghttp2_strerror(static_cast<int>(used)));
  }
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
  return !has_failed_ && nghttp2_session_get_outbound_queue_size(session_.get()) > kMostQueued + limits_.streams;
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
  submit_reset(id, NGHTTP2_NO_ERROR);
  handler_.on_output();
}

void Http2Connection::submit_reset(Http2StreamId id, std::uint32_t code) {
  const bool is_submitted = nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, code) == 0;
  if (is_submitted && role_ == Role::server) own_resets_.insert(id);
}

void Http2Connection::on_stream_closed(Http2StreamId id, std::uint32_t code) {
  Stream* const stream = find(id);
  if (stream == nullptr) return;
  forget(id);
  stream->on_closed(static_cast<Http2Code>(code), reset_here_ == id);
}

void Http2Connection::forget(Http2StreamId id) {
  const auto found = streams_.find(id);
  grown_ -= found->second.window - limits_.stream_window;
  streams_.erase(found);
}

// The stream's own window alone bounds what it keeps: one that is not read must not stop the others. But with no memory
// for all of them, no more may come than there is room for before what frees it.
void Http2Connection::pay_window() {
  if (owed_ == 0 || has_failed_ || !memory_.may_open()) return;
  nghttp2_session_consume_connection(session_.get(), std::exchange(owed_, 0));
  handler_.on_output();
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
  if (has_much_to_write()) return 0;
  const std::vector<nghttp2_nv> nvs = nghttp2_list(list);
  const nghttp2_data_provider body{.source = {}, .read_callback = Callbacks::supply};
  const Http2StreamId id =
      nghttp2_submit_request(session_.get(), nullptr, nvs.data(), nvs.size(), has_body ? &body : nullptr, nullptr);
  if (id <= 0) return 0;
  attach(id, stream);
  handler_.on_output();
  return id;
}

void Http2Connection::attach(Http2StreamId id, Stream& stream) {
  streams_[id] = Entry{.stream = &stream, .window = limits_.stream_window};
}

void Http2Connection::detach(Http2StreamId id) {
  if (find(id) != nullptr) forget(id);
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
  grow(id, found->second, known);
  nghttp2_session_consume_stream(session_.get(), id, known);
  handler_.on_output();
}

// A reader that has taken a whole window may be held up by the time a WINDOW_UPDATE needs: twice as much from now on.
void Http2Connection::grow(Http2StreamId id, Entry& entry, std::size_t taken) {
  entry.taken += taken;
  if (entry.taken < entry.window) return;
  entry.taken = 0;
  const std::uint32_t more = std::min(entry.window, limits_.most_window - std::min(limits_.most_window, entry.window));
  if (more == 0 || grown_ + more > kMostGrown || !memory_.has_room(more) || is_ended_by_peer(id)) return;
  const auto window = static_cast<std::int32_t>(entry.window + more);
  if (nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, id, window) != 0) return;
  entry.window += more;
  grown_ += more;
}

void Http2Connection::reset(Http2StreamId id, Http2Code code) {
  detach(id);
  if (has_failed_) return;
  submit_reset(id, static_cast<std::uint32_t>(code));
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

void Http2Connection::end_slow_head() {
  note_flood(FrameBudget::Verdict::slow_head);
  end_if_due();
}

// What the header section that is read, or was read last, holds.
void Http2Connection::count_list() {
  const std::size_t held = list_.held();
  if (held > list_counted_) memory_.take(held - list_counted_);
  if (held < list_counted_) memory_.give(list_counted_ - held);
  list_counted_ = held;
}

void Http2Connection::close_streams() {
  grown_ = 0;
  for (const auto& [id, entry] : std::exchange(streams_, {}))
    entry.stream->on_closed(Http2Code::cancel, is_peer_at_fault_);
}

}  // namespace bloomwall::proxy
