// SPDX-License-Identifier: Apache-2.0
#include "proxy/upstream/bound_upstreams.h"

#include <algorithm>
#include <utility>

namespace bloomwall::proxy {

// One of them while no request uses it.
class BoundUpstreams::Held final : public DeletedLater, Transport::Handler {
 public:
  Held(BoundUpstreams& owner, UpstreamPtr upstream) : owner_(owner), upstream_(std::move(upstream)) {
    upstream_->transport->set_handler(*this);
  }
  UpstreamConnection& upstream() const { return *upstream_; }
  UpstreamPtr take() { return std::move(upstream_); }

 private:
  std::size_t on_data(std::span<const char> bytes) override {
    owner_.on_end(*this);
    return bytes.size();
  }
  void on_end() override { owner_.on_end(*this); }
  void on_drained() override {}
  void on_write_failed(int) override { owner_.on_end(*this); }
  void on_failed(int) override { owner_.on_end(*this); }

  BoundUpstreams& owner_;
  UpstreamPtr upstream_;
};

BoundUpstreams::BoundUpstreams(EventLoop& loop, Owner& owner) : loop_(loop), owner_(owner) {}

BoundUpstreams::~BoundUpstreams() { drop(); }

void BoundUpstreams::keep(UpstreamPtr upstream) {
  if (held_.size() == kMost) {
    close(*held_.front());
    is_lost_ = true;
  }
  upstream->transport->resume(PauseReason::peer_full);
  held_.push_back(std::make_unique<Held>(*this, std::move(upstream)));
}

UpstreamPtr BoundUpstreams::take(std::string_view key, std::string_view of_parent, Transport::Handler& user) {
  const auto fits = [&](const std::unique_ptr<Held>& held) {
    const std::string_view bound_as = held->upstream().bound_as;
    return bound_as == key || bound_as == of_parent;
  };
  const auto found = std::ranges::find_if(held_, fits);
  if (found == held_.end()) return nullptr;
  Held& held = **found;
  if (held.upstream().transport->arrived() != Transport::Arrived::nothing) {
    close(held);
    is_lost_ = true;
    return nullptr;
  }
  UpstreamPtr taken = remove(held);
  taken->transport->set_handler(user);
  taken->reused = true;
  return taken;
}

void BoundUpstreams::drop() {
  while (!held_.empty()) close(*held_.back());
}

void BoundUpstreams::on_end(Held& held) {
  close(held);
  is_lost_ = true;
  owner_.on_bound_end();
}

// It may be the one whose callback runs.
UpstreamPtr BoundUpstreams::remove(Held& held) {
  const auto found = std::ranges::find(held_, &held, &std::unique_ptr<Held>::get);
  UpstreamPtr upstream = held.take();
  loop_.deferred().delete_later(std::move(*found));
  held_.erase(found);
  return upstream;
}

void BoundUpstreams::close(Held& held) {
  UpstreamPtr upstream = remove(held);
  upstream->transport->close();
  loop_.deferred().delete_later(std::move(upstream));
}

}  // namespace bloomwall::proxy
