// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/http2_session.h"

#include <algorithm>
#include <utility>

#include "proxy/exchange/http2_end.h"

namespace bloomwall::proxy {
namespace {

// What may stand before the updates of windows that free memory, even when there is little: half a reserve is enough
// for some such clients. The most is 10 MB/s of uploads over 50 ms.
std::uint32_t client_window(std::size_t memory) {
  constexpr std::size_t kLeast = std::size_t{64} << 10, kMost = std::size_t{512} << 10;
  return static_cast<std::uint32_t>(std::clamp(memory / (4 * Http2Link::kShare), kLeast, kMost));
}

Http2Connection::Limits client_side_limits(const conf::Limits& limits, std::size_t memory) {
  return {.streams = limits.http2_streams,
          .head = {limits.request_header, limits.header_fields},
          .window = client_window(memory)};
}

constexpr std::size_t kMostBehind = 32;  // requests whose streams have ended before the origin had taken all of them
constexpr std::size_t kStreamRoom = std::size_t{64} * 1024;  // octets that a stream may keep waiting

}  // namespace

Http2Session::Http2Session(WorkerState& worker, Owner& owner, UpstreamPtr upstream)
    : worker_(worker),
      owner_(owner),
      link_(worker.io, Http2Connection::Role::server,
            client_side_limits(worker.snapshot->settings.limits, worker.io.pool.limit()),
            worker.snapshot->settings.timeouts.request_header, *this, *this),
      idle_(worker.io.loop.timers(), [](void* self) { static_cast<Http2Session*>(self)->on_timer(); }, this) {
  if (upstream != nullptr) origin_ = std::make_unique<Http2Origin>(worker, *this, std::move(upstream));
  worker_.counters.http2_sessions_active.add();
}

Http2Session::~Http2Session() { worker_.counters.http2_sessions_active.subtract(); }

void Http2Session::begin() {
  link_.begin(owner_.client_transport());
  idle_.set(worker_.snapshot->settings.timeouts.idle);
  if (!may_serve()) leave();
}

// Without an origin that takes requests, and without anything to tell instead, a request is refused: it may be sent
// again, on another connection.
bool Http2Session::may_serve() const {
  if (origin_ == nullptr || owner_.client_info().inside->failure) return true;
  return origin_->is_usable() && !wants_http11_;
}

std::size_t Http2Session::held() const {
  std::size_t sum = origin_ == nullptr ? 0 : origin_->held_for_origin();
  streams_.for_each([&](const Http2ClientStream& stream) { sum += stream.held_of_request(); });
  return sum;
}

std::size_t Http2Session::held_for_client() const {
  std::size_t sum = 0;
  streams_.for_each([&](const Http2ClientStream& stream) { sum += stream.held_of_answer(); });
  return sum;
}

// Who is over its share has no more requests served meanwhile.
bool Http2Session::has_memory() const {
  const BufferPool& pool = worker_.io.pool;
  if (pool.has_room(kStreamRoom)) return true;
  return held() + held_of_answers() <= pool.left() / Http2Link::kShare;
}

void Http2Session::on_request(Http2StreamId id, const Http2FieldList& list, bool is_end) {
  const bool is_behind = running_ >= worker_.snapshot->settings.limits.http2_streams + kMostBehind;
  if (!may_serve() || has_said_last_ || is_behind || !has_memory()) {
    worker_.counters.http2_streams_refused_total.add();
    return wants_http11_ ? leave() : void();
  }
  auto stream = std::make_unique<Http2ClientStream>(worker_, *this, link_.connection(), id);
  Http2ClientStream& begun = *stream.release();  // the list owns it
  streams_.push_back(begun);
  if (running_++ == 0) {
    idle_.clear();
    owner_.on_http2_idle(false);
  }
  begun.begin(list, is_end);
}

UpstreamPtr Http2Session::open_inner(Http2OriginStream::Beside& beside) {
  return has_inner() ? origin_->open(beside) : nullptr;
}

void Http2Session::on_stream_over(Http2ClientStream& stream) {
  was_answered_ = true;
  stream.leave();
  worker_.io.loop.deferred().delete_later(std::unique_ptr<Http2ClientStream>(&stream));
  if (--running_ == 0) {
    if (link_.is_open()) idle_.set(worker_.snapshot->settings.timeouts.idle);
    owner_.on_http2_idle(true);
  }
  worker_.draining ? leave() : end_if_idle();
}

void Http2Session::on_origin_lost() {
  owner_.on_http2_origin_lost();
  if (!may_serve()) leave();
}

// The client's next connection gets it. One that does not understand, and asks again on this one, is sent away then:
// some do not look at a reset that GOAWAY follows.
void Http2Session::on_http11_wanted() {
  if (std::exchange(wants_http11_, true)) return;
  const ClientInfo::Inside& inside = *owner_.client_info().inside;
  worker_.origin_facts.note_http11(inside.host, inside.port);
}

void Http2Session::drain() { leave(); }

void Http2Session::leave() {
  if (!link_.is_open()) return;  // it has not begun: begin() looks
  if (!std::exchange(is_leaving_, true)) {
    link_.connection().announce_end();
    idle_.set(kCrossing);
  }
  end_if_idle();
}

void Http2Session::end_if_idle() {
  if (is_leaving_ && running_ == 0 && link_.is_open()) say_last();
}

void Http2Session::say_last() {
  if (!std::exchange(has_said_last_, true)) link_.connection().finish();
  link_.flush_later();  // it may be over
  if (running_ == 0) idle_.set(worker_.snapshot->settings.timeouts.idle);
}

// A client that does not even take the GOAWAY is not waited for a second time.
void Http2Session::on_timer() {
  if (has_said_last_) {
    link_.close();
    return on_link_end();
  }
  if (is_leaving_) return say_last();
  worker_.counters.client_idle_timeouts_total.add();
  leave();
}

// Those whose stream has ended already, but not their exchange.
void Http2Session::cut_streams() {
  while (!streams_.empty()) streams_.front().cut();
}

void Http2Session::on_link_end() {
  note_http2_end(worker_, link_.connection(), "client", owner_.client_info().address);
  cut_streams();
  idle_.clear();
  if (origin_ != nullptr) origin_->close();
  owner_.on_http2_end();  // last: the owner has us deleted later
}

void Http2Session::close() {
  link_.close();
  cut_streams();
  idle_.clear();
  if (origin_ != nullptr) origin_->close();
}

}  // namespace bloomwall::proxy
