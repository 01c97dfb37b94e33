// One request of a client that speaks HTTP/2, and its answer: a ClientStream over a stream of its connection. Its head
// comes from the list of fields; the answer, which the exchange sends as a message of HTTP/1.1, is read by the reader
// that reads origins, and becomes HEADERS, DATA and trailers: what that reader does not call whole never looks whole.
//
//   exchanging --answer whole--> leaving --sent, or too slow--> over
//        \--cut, reset, refused---------------------------------> over
//
// Where the answer came before the origin had taken all of the request, it is over when it has that, too.
// Owned by the session, which is told by on_stream_over() and deletes it later. Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proxy/decision/client_info.h"
#include "proxy/decision/worker_state.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/exchange_progress.h"
#include "proxy/exchange/http2_origin_stream.h"
#include "proxy/exchange/http2_outbox.h"
#include "proxy/http/http1_reader.h"
#include "proxy/http2/http2_connection.h"
#include "proxy/io/chain.h"
#include "proxy/io/handles.h"
#include "proxy/io/intrusive_list.h"
#include "proxy/upstream/warm_readers.h"

namespace bloomwall::proxy {

class Http2ClientStream final : public DeletedLater,
                                public ListLink<Http2ClientStream>,
                                public ClientStream,
                                Http2Connection::Stream {
 public:
  class Owner {
   public:
    virtual const ClientInfo& client_info() const = 0;
    virtual OwnUpstreams& own_upstreams() = 0;
    // A stream to the origin; `beside` is of both. nullptr: it is gone.
    virtual UpstreamPtr open_inner(Http2OriginStream::Beside& beside) = 0;
    virtual bool has_inner() const = 0;
    virtual bool was_answered() const = 0;
    virtual bool wants_http11() const = 0;                       // the origin does, and takes nothing here
    virtual void on_stream_over(Http2ClientStream& stream) = 0;  // once

   protected:
    ~Owner() = default;
  };
  Http2ClientStream(WorkerState& worker, Owner& owner, Http2Connection& connection, Http2StreamId id);
  ~Http2ClientStream() override;
  void begin(const Http2FieldList& list, bool is_end);           // once, when the owner has it; it may end at once
  void cut();                                                    // the connection is gone
  std::size_t held_of_request() const { return inbox_.held(); }  // octets of the pool
  std::size_t held_of_answer() const { return outbox_.held(); }

 private:
  // Of the stream to the origin, after the exchange: the rest of the request is on the way.
  struct Rest final : Transport::Handler {
    explicit Rest(Http2ClientStream& whose) : stream(whose) {}
    std::size_t on_data(std::span<const char> bytes) override { return bytes.size(); }
    void on_end() override {}
    void on_drained() override { stream.on_rest_moved(); }
    void on_write_failed(int) override {}
    void on_failed(int) override { stream.on_rest_moved(); }
    Http2ClientStream& stream;
  };
  void on_rest_moved();
  std::span<const char> hold_last(std::span<const char> octets);
  std::span<const Field> answer_trailers() const;

  // Of the connection.
  void on_head(const Http2FieldList&, bool) override {}
  void on_data(std::span<const char> octets) override;
  void on_trailers(const Http2FieldList& list) override;
  void on_end() override;
  void on_closed(Http2Code code, bool is_at_fault) override;
  Supply supply(std::span<char> room) override;
  void list_trailers(std::vector<Http2Field>& out) override;

  // Of the exchange.
  const ClientInfo& info() const override { return owner_.client_info(); }
  const RequestHead* head() const override { return come_.is_understood ? &head_ : nullptr; }
  bool is_http2() const override { return true; }
  bool is_implicit_tunnel() const override { return false; }
  bool is_named_by_hello() const override { return false; }
  bool was_answered() const override { return owner_.was_answered(); }
  OwnUpstreams& own_upstreams() override { return owner_.own_upstreams(); }
  BoundUpstreams* bound_upstreams() override { return nullptr; }
  bool request_ended() const override { return come_.is_told_end; }
  std::uint64_t body_left() const override;
  std::span<const Field> trailers() const override { return beside_.request.trailers.fields(); }
  void pause(PauseReason reason) override { gate_.pause(reason); }
  void resume(PauseReasons reasons) override;
  void send(GatheredWrite& out, bool chunked) override;
  std::size_t backlog() const override { return outbox_.backlog(); }
  std::size_t unconfirmed() const override { return 0; }
  std::size_t kernel_room() const override { return outbox_.empty() ? Http2Outbox::kSendAhead : 0; }
  std::uint64_t octets_sent() const override { return answered_.octets; }
  Milliseconds last_active() const override { return last_active_; }
  void finish(After after) override;
  void become_tunnel(UpstreamPtr upstream, TunnelStart start) override;
  void show_page(InterceptionStart start) override;
  UpstreamPtr take_inner() override { return owner_.open_inner(beside_); }
  void keep_inner(UpstreamPtr upstream) override;
  void drop_rest();
  void end_if_done();
  bool has_inner() const override { return owner_.has_inner(); }

  void begin_exchange(const std::optional<HttpError>& error);
  void take_answer(std::span<const char> octets);
  bool is_answered() const;
  void submit_head();
  void deliver();
  void pass_on(std::span<const char> piece);
  void break_later();
  void on_wake();
  void on_timer();
  void reset(Http2Code code);
  void end();

  struct Come {                               // of the request
    std::uint64_t octets = 0, passed_on = 0;  // of its body; passed_on: to the exchange
    std::optional<char> last;  // of a body whose length is said, until it is known whether trailers follow
    bool is_understood = false;
    bool is_head = false;      // HEAD: an answer has no body, even if the request is malformed
    bool has_end = false;      // perhaps behind what is in the inbox
    bool is_told_end = false;  // and the exchange was told
  };
  struct Answered {
    std::uint64_t octets = 0;
    unsigned interims = 0;  // heads that came before the final one
    bool has_head = false, head_is_sent = false;
    bool is_drained = false;  // the exchange is to be told
  };

  WorkerState& worker_;
  Owner& owner_;
  Http2Connection& connection_;
  const Http2StreamId id_;
  std::string text_;    // of the head
  Reservation memory_;  // for that
  RequestHead head_;
  Come come_;
  Http2OriginStream::Beside beside_;
  std::unique_ptr<Exchange> exchange_;
  WarmReaders<ResponseReader>::Ptr answer_;  // what the exchange sends
  Rest rest_handler_{*this};
  UpstreamPtr rest_;  // takes the rest of the request
  Chain inbox_;       // of the request's body
  Http2Outbox outbox_;
  Answered answered_;
  ReadGate gate_;
  Event wake_;
  Timer timer_;
  RateCheck rate_;
  Milliseconds last_active_;
  bool is_broken_ = false;  // the request, or the answer, cannot go on
  bool is_closed_ = false;  // there is no stream any more
  bool is_over_ = false;
};

}  // namespace bloomwall::proxy
