// SPDX-License-Identifier: Apache-2.0
#include "proxy/net/inner_origin.h"

#include <utility>

#include "proxy/io/event_loop.h"

namespace bloomwall::proxy {

void InnerOrigin::keep(UpstreamPtr upstream) {
  upstream->reused = std::exchange(was_used_, true);
  upstream->transport->set_handler(*this);
  upstream->transport->resume(PauseReason::peer_full);
  upstream_ = std::move(upstream);
}

UpstreamPtr InnerOrigin::take() { return std::move(upstream_); }

void InnerOrigin::drop(EventLoop& loop) {
  if (upstream_ == nullptr) return;
  upstream_->transport->close();
  loop.deferred().delete_later(std::move(upstream_));
}

// What an origin says without being asked is no answer to anybody.
std::size_t InnerOrigin::on_data(std::span<const char> bytes) {
  owner_.on_inner_end();
  return bytes.size();
}

}  // namespace bloomwall::proxy
