// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/http2_origin.h"

#include <utility>

namespace bloomwall::proxy {
namespace {

// How many requests an origin is assumed to take before its SETTINGS have come.
constexpr std::uint32_t kFirstStreams = 100;

Http2Connection::Limits origin_side_limits(const conf::Limits& limits) {
  return {.streams = kFirstStreams, .head = {limits.response_header, limits.header_fields}};
}

}  // namespace

Http2Origin::Http2Origin(WorkerState& worker, Owner& owner, UpstreamPtr upstream)
    : worker_(worker),
      owner_(owner),
      upstream_(std::move(upstream)),
      link_(worker.io, Http2Connection::Role::client, origin_side_limits(worker.snapshot->settings.limits), *this,
            *this) {
  link_.begin(*upstream_->transport);
  upstream_->transport->resume(PauseReason::busy);
}

Http2Origin::~Http2Origin() { close(); }

UpstreamPtr Http2Origin::open(Http2OriginStream::Secrets& secrets) {
  auto stream = std::make_unique<Http2OriginStream>(worker_.io, link_.connection(), *upstream_->transport,
                                                    worker_.sent_requests, secrets, *this);
  return worker_.upstreams.make_stream(std::move(stream), *upstream_);
}

void Http2Origin::on_goaway() {
  if (!std::exchange(is_leaving_, true)) owner_.on_origin_goaway();
}

void Http2Origin::on_link_end() {
  if (link_.connection().flood() != FrameBudget::Verdict::fine) worker_.counters.http2_floods_total.add();
  upstream_->transport->close();
  owner_.on_origin_lost();
}

void Http2Origin::close() {
  link_.close();
  upstream_->transport->close();
}

}  // namespace bloomwall::proxy
