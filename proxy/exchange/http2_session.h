// HTTP/2 inside intercepted TLS: the client's connection, the one connection to the origin, and the requests on them.
// The client was offered what the origin chose, so both speak it, and no request is translated to another version of
// HTTP. Each stream of the client's is a request (Http2ClientStream) with a stream of its own to the origin
// (Http2OriginStream). Nobody else uses that connection; when one end goes so does the other.
// Where there is no origin (a blocked host, or Inside::failure) every request is answered here.
//
//   made, once the origin was verified --client's handshake done--> begin() --GOAWAY, end or idle--> over
//
// The end: the client is told by GOAWAY when the origin announces its own, when the proxy drains, and after
// timeouts.idle without a request; what runs may end. After kCrossing a second GOAWAY says which requests those are.
// Streams beyond what the origin will process are refused, which clients take as leave to send them again, on another
// connection. An origin that wants HTTP/1.1 instead is remembered as such (OriginFacts), and the client told.
// Owned by a ClientSession; destroyed by the DeferredDeletion only. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "proxy/exchange/http2_client_stream.h"
#include "proxy/exchange/http2_link.h"
#include "proxy/exchange/http2_origin.h"

namespace bloomwall::proxy {

class Http2Session final : public DeletedLater,
                           public Http2Connection::Handler,
                           public Http2Link::Owner,
                           public Http2ClientStream::Owner,
                           public Http2Origin::Owner {
 public:
  static constexpr Milliseconds kCrossing{1000};  // for requests that were sent before the end was heard of

  class Owner {
   public:
    virtual Transport& client_transport() = 0;
    virtual const ClientInfo& client_info() const = 0;
    virtual OwnUpstreams& own_upstreams() = 0;
    virtual void on_http2_idle(bool is_idle) = 0;  // whether a request runs: once for each change
    virtual void on_http2_origin_lost() = 0;       // origin_tls() may know why
    virtual void on_http2_end() = 0;               // once: there is no request, and none will come

   protected:
    ~Owner() = default;
  };
  // `upstream`: HTTP/2 was agreed on with the origin; nullptr: there is none.
  Http2Session(WorkerState& worker, Owner& owner, UpstreamPtr upstream);
  ~Http2Session() override;
  void begin();  // the client's TLS stands, and HTTP/2 was agreed on
  void drain();  // no further requests
  void close();  // idempotent; requests are cut, and the owner is not told
  const TlsSession* origin_tls() const { return origin_ != nullptr ? origin_->tls() : nullptr; }
  std::size_t requests() const { return running_; }

 private:
  void on_request(Http2StreamId id, const Http2FieldList& list, bool is_end) override;
  void on_goaway(Http2Code) override {}  // a client's: it opens no more, and closes when it has its answers
  void on_output() override { link_.flush_later(); }
  void on_link_end() override;
  void on_sent() override {
    if (origin_ != nullptr) origin_->reconsider();
  }
  std::size_t held() const override;  // of what came from the client
  bool frees_others() const override { return held_of_answers() > worker_.io.pool.left() / Http2Link::kShare; }
  std::size_t held_of_answers() const { return origin_ == nullptr ? held_for_client() : origin_->held(); }

  const ClientInfo& client_info() const override { return owner_.client_info(); }
  OwnUpstreams& own_upstreams() override { return owner_.own_upstreams(); }
  UpstreamPtr open_inner(Http2OriginStream::Beside& beside) override;
  bool has_inner() const override { return origin_ != nullptr && origin_->is_usable(); }
  bool was_answered() const override { return was_answered_; }
  bool wants_http11() const override { return wants_http11_; }
  void on_stream_over(Http2ClientStream& stream) override;

  void on_origin_goaway() override { leave(); }
  void on_origin_sent() override { link_.reconsider(); }
  void on_origin_lost() override;
  void on_http11_wanted() override;
  std::size_t held_for_client() const override;

  bool may_serve() const;
  bool has_memory() const;
  void cut_streams();
  void leave();
  void end_if_idle();
  void say_last();
  void on_timer();

  WorkerState& worker_;
  Owner& owner_;
  std::unique_ptr<Http2Origin> origin_;
  Http2Link link_;
  IntrusiveList<Http2ClientStream, Http2ClientStream> streams_;  // owns them; on_stream_over() gives them back
  std::size_t running_ = 0;
  Timer idle_;
  bool was_answered_ = false;
  bool is_leaving_ = false, has_said_last_ = false;
  bool wants_http11_ = false;  // the origin
};

}  // namespace bloomwall::proxy
