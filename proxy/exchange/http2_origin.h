// The HTTP/2 connection to an origin, for the requests of one client's connection. Takes octets from the moment it is
// made: an origin says its SETTINGS before it is asked anything.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proxy/decision/worker_state.h"
#include "proxy/exchange/http2_link.h"
#include "proxy/exchange/http2_origin_stream.h"
#include "proxy/io/intrusive_list.h"

namespace bloomwall::proxy {

class Http2Origin final : public Http2Connection::Handler,
                          public Http2Link::Owner,
                          public Http2OriginStream::Owner,
                          public Transport::Handler {
 public:
  class Owner {
   public:
    virtual void on_origin_goaway() = 0;              // it takes no further request
    virtual void on_origin_lost() = 0;                // once: it is gone; the streams were told
    virtual void on_origin_sent() = 0;                // as of an Http2Link's owner
    virtual void on_http11_wanted() = 0;              // it takes requests by HTTP/1.1 alone
    virtual std::size_t held_for_client() const = 0;  // octets of the pool

   protected:
    ~Owner() = default;
  };
  Http2Origin(WorkerState& worker, Owner& owner, UpstreamPtr upstream);
  ~Http2Origin();
  void close();  // idempotent; the owner is not told
  bool is_usable() const { return link_.can_send() && !is_leaving_; }
  const TlsSession* tls() const { return upstream_->transport->tls(); }  // also once it is gone
  UpstreamPtr open(Http2OriginStream::Beside& beside);                   // a stream; is_usable() only
  std::size_t held() const override;                                     // of what came from it
  bool frees_others() const override { return false; }                   // the client's link is enough
  void reconsider() { link_.reconsider(); }
  std::size_t held_for_origin() const;  // octets of the pool

 private:
  void on_request(Http2StreamId, const Http2FieldList&, bool) override {}
  void on_goaway(Http2Code why) override;
  void on_output() override { link_.flush_later(); }
  void on_link_end() override;
  void on_sent() override { owner_.on_origin_sent(); }
  void on_http11_wanted() override { owner_.on_http11_wanted(); }
  // Of a stream that nobody uses yet.
  std::size_t on_data(std::span<const char> bytes) override { return bytes.size(); }
  void on_end() override {}
  void on_drained() override {}
  void on_write_failed(int) override {}
  void on_failed(int) override {}

  WorkerState& worker_;
  Owner& owner_;
  UpstreamPtr upstream_;
  Http2Link link_;
  IntrusiveList<Http2OriginStream, Http2OriginStream> streams_;
  bool is_leaving_ = false;
};

}  // namespace bloomwall::proxy
