// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/http2_session.h"

#include <utility>

namespace bloomwall::proxy {
namespace {

Http2Connection::Limits client_side_limits(const conf::Limits& limits) {
  return {.streams = limits.http2_streams, .head = {limits.request_header, limits.header_fields}};
}

constexpr std::size_t kStreamRoom = std::size_t{64} * 1024;  // octets that a stream may keep waiting

}  // namespace

Http2Session::Http2Session(WorkerState& worker, Owner& owner, UpstreamPtr upstream)
    : worker_(worker),
      owner_(owner),
      link_(worker.io, Http2Connection::Role::server, client_side_limits(worker.snapshot->settings.limits), *this,
            *this),
      idle_(worker.io.loop.timers(), [](void* self) { static_cast<Http2Session*>(self)->on_timer(); }, this) {
  if (upstream != nullptr) origin_ = std::make_unique<Http2Origin>(worker, *this, std::move(upstream));
  worker_.counters.http2_sessions_active.add();
}

Http2Session::~Http2Session() { worker_.counters.http2_sessions_active.subtract(); }

void Http2Session::begin() {
  link_.begin(owner_.client_transport());
  idle_.set(worker_.snapshot->settings.timeouts.idle);
  if (origin_ != nullptr && !origin_->is_usable()) leave();
}

// Without an origin that takes requests, and without anything to tell instead, a request is refused: it may be sent
// again, on another connection.
bool Http2Session::may_serve() const {
  return origin_ == nullptr || origin_->is_usable() || owner_.client_info().inside->failure.has_value();
}

void Http2Session::on_request(Http2StreamId id, const Http2FieldList& list, bool is_end) {
  if (!may_serve() || !worker_.io.pool.has_room(kStreamRoom)) {
    worker_.counters.http2_streams_refused_total.add();
    return;
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

UpstreamPtr Http2Session::open_inner(Http2OriginStream::Secrets& secrets) {
  return has_inner() ? origin_->open(secrets) : nullptr;
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
  if (link_.is_open()) leave();
}

void Http2Session::drain() { leave(); }

void Http2Session::leave() {
  if (!link_.is_open()) return;  // it has not begun: begin() looks
  if (!std::exchange(is_leaving_, true)) link_.connection().announce_end();
  end_if_idle();
}

void Http2Session::end_if_idle() {
  if (is_leaving_ && running_ == 0 && link_.is_open()) link_.connection().finish();
}

// A client that does not even take the GOAWAY is not waited for a second time.
void Http2Session::on_timer() {
  if (is_leaving_) {
    link_.close();
    return on_link_end();
  }
  worker_.counters.client_idle_timeouts_total.add();
  leave();
  idle_.set(worker_.snapshot->settings.timeouts.idle);
}

void Http2Session::on_link_end() {
  if (link_.connection().flood() != FrameBudget::Verdict::fine) worker_.counters.http2_floods_total.add();
  idle_.clear();
  if (origin_ != nullptr) origin_->close();
  owner_.on_http2_end();  // last: the owner has us deleted later
}

void Http2Session::close() {
  idle_.clear();
  link_.close();
  if (origin_ != nullptr) origin_->close();
}

}  // namespace bloomwall::proxy
