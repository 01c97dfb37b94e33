// The connection of a tunnel in which the client speaks HTTP/1, while no request uses it. There is this one for all of
// them, as if the two ends were joined: it is never shared, nothing is dialled on behalf of a Host field, and when one
// end goes so does the other. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/net/upstream.h"

namespace bloomwall::proxy {

class InnerOrigin final : Transport::Handler {
 public:
  class Owner {
   public:
    virtual void on_inner_end() = 0;  // it is gone

   protected:
    ~Owner() = default;
  };
  explicit InnerOrigin(Owner& owner) : owner_(owner) {}

  bool is_here() const { return upstream_ != nullptr; }
  const TlsSession* tls() const { return is_here() ? upstream_->transport->tls() : nullptr; }  // nullptr: plain
  void keep(UpstreamPtr upstream);
  UpstreamPtr take();  // nullptr: it is gone
  void drop(EventLoop& loop);

 private:
  std::size_t on_data(std::span<const char> bytes) override;
  void on_end() override { owner_.on_inner_end(); }
  void on_drained() override {}
  void on_write_failed(int) override { owner_.on_inner_end(); }
  void on_failed(int) override { owner_.on_inner_end(); }

  Owner& owner_;
  UpstreamPtr upstream_;
  bool was_used_ = false;  // a request has been sent on it
};

}  // namespace bloomwall::proxy
