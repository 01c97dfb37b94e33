// SPDX-License-Identifier: Apache-2.0
#include "proxy/exchange/http2_origin.h"

#include <utility>

#include "proxy/exchange/http2_end.h"

namespace bloomwall::proxy {
namespace {

Http2Connection::Limits origin_side_limits(const conf::Limits& limits) {
  return {.streams = limits.http2_streams, .head = {limits.response_header, limits.header_fields}};
}

}  // namespace

Http2Origin::Http2Origin(WorkerState& worker, Owner& owner, UpstreamPtr upstream)
    : worker_(worker),
      owner_(owner),
      upstream_(std::move(upstream)),
      link_(worker.io, Http2Connection::Role::client, origin_side_limits(worker.snapshot->settings.limits),
            worker.snapshot->settings.timeouts.response_header, *this, *this) {
  link_.begin(*upstream_->transport);
  upstream_->transport->resume(PauseReason::busy);
}

Http2Origin::~Http2Origin() { close(); }

UpstreamPtr Http2Origin::open(Http2OriginStream::Beside& beside) {
  auto stream = std::make_unique<Http2OriginStream>(worker_.io, link_.connection(), *upstream_->transport,
                                                    worker_.sent_requests, beside, *this, *this);
  streams_.push_back(*stream);
  return worker_.upstreams.make_stream(std::move(stream), *upstream_);
}

std::size_t Http2Origin::held() const {
  std::size_t sum = owner_.held_for_client();
  streams_.for_each([&](const Http2OriginStream& stream) { sum += stream.held_of_answer(); });
  return sum;
}

std::size_t Http2Origin::held_for_origin() const {
  std::size_t sum = 0;
  streams_.for_each([&](const Http2OriginStream& stream) { sum += stream.held_of_request(); });
  return sum;
}

void Http2Origin::on_goaway(Http2Code why) {
  if (why == Http2Code::http_1_1_required) owner_.on_http11_wanted();
  if (!std::exchange(is_leaving_, true)) owner_.on_origin_goaway();
}

void Http2Origin::on_link_end() {
  note_http2_end(worker_, link_.connection(), "origin", upstream_->peer.text());
  upstream_->transport->close();
  owner_.on_origin_lost();
}

void Http2Origin::close() {
  link_.close();
  upstream_->transport->close();
}

}  // namespace bloomwall::proxy
