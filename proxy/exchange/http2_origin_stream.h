// One stream of the HTTP/2 connection to an origin, as a Transport: what an exchange sends on it is one request as a
// message of HTTP/1.1, and what comes is the answer as such a message, with chunked framing where no Content-Length
// says how long it is. Both are a format between two parts of this program; neither reaches the network. The request is
// read by the reader that reads clients, so that what it does not call whole never looks whole to the origin.
// The end of the answer is in its framing, so on_end() is never called: an origin that has said all may still read the
// rest of the request. on_failed() is ECONNREFUSED where the origin has processed nothing of the request
// (REFUSED_STREAM, GOAWAY), kWantsHttp11, EPROTO where it has broken a rule of HTTP/2, or else ECONNRESET.
// Bounds: the stream's window, and its chunked framing, which is five times as much where each octet of an answer comes
// in a frame of its own; what the exchange does not use is not consumed.
// Lifetime: after close(), or a callback that closes, it does not touch the connection. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proxy/exchange/http2_outbox.h"
#include "proxy/http/http1_reader.h"
#include "proxy/http2/http2_connection.h"
#include "proxy/io/handles.h"
#include "proxy/io/intrusive_list.h"
#include "proxy/io/transport.h"
#include "proxy/upstream/warm_readers.h"

namespace bloomwall::proxy {

// on_failed(): the origin wants the request by HTTP/1.1, and has processed nothing of it.
inline constexpr int kWantsHttp11 = EPROTONOSUPPORT;

class Http2OriginStream final : public Transport,
                                public ListLink<Http2OriginStream>,  // of those of one connection
                                Http2Connection::Stream {
 public:
  class Owner {
   public:
    virtual void on_http11_wanted() = 0;

   protected:
    ~Owner() = default;
  };
  using Readers = WarmReaders<RequestReader>;
  // Of the request on the way to the origin, and of the answer on the way back: what a message of HTTP/1.1 cannot say.
  struct Beside {
    struct Message {
      NeverIndexed never_indexed;
      Http2Trailers trailers;  // of a body whose length is said; all are complete before its last octet goes on
    };
    Message request, answer;
  };
  // `carrier`: what the connection is spoken over. All must live until it is closed; `readers` and `beside` longer.
  Http2OriginStream(IoContext& io, Http2Connection& connection, const Transport& carrier, Readers& readers,
                    Beside& beside, Owner& owner, Handler& handler);
  ~Http2OriginStream() override;

  // Instead of close(), after an answer that was whole: a stream that both sides have ended is not reset.
  void release();
  bool is_sent() const { return end_is_given_ || is_detached_ || !is_open_; }  // on_drained() or on_failed() follows
  void close() override;
  void close_with_reset() override { close(); }
  Arrived arrived() const override;
  bool has_unseen() const override { return !inbox_.empty(); }
  std::size_t held_of_request() const { return outbox_.held(); }  // octets of the pool
  std::size_t held_of_answer() const { return inbox_.held(); }
  std::size_t unconfirmed() const override { return 0; }
  std::size_t kernel_room() const override { return outbox_.empty() ? Http2Outbox::kSendAhead : 0; }
  void set_notices_reset(bool) override {}  // it always does

  using Transport::send;
  void send(std::span<const iovec> pieces) override;
  std::size_t backlog() const override { return outbox_.backlog(); }
  bool write_failed() const override { return false; }
  void shut_write() override {}  // the request's own framing says where it ends
  const TlsSession* tls() const override { return is_open_ ? carrier_.tls() : nullptr; }
  Milliseconds last_active() const override { return last_active_; }
  Milliseconds last_sent() const override { return last_sent_; }

 private:
  // Of the connection.
  void on_head(const Http2FieldList& list, bool is_end) override;
  void on_data(std::span<const char> octets) override;
  void on_trailers(const Http2FieldList& list) override;
  void on_end() override;
  void on_closed(Http2Code code, bool is_at_fault) override;
  Supply supply(std::span<char> room) override;
  void list_trailers(std::vector<Http2Field>& out) override;

  void on_gate_opened() override { wake_.trigger(); }  // not from within the caller
  void take_request(std::span<const char> octets);
  void submit();
  std::span<const Field> trailers() const;  // of the request
  void give(std::string_view text);
  void give_counted(std::span<const char> octets);
  void consume_used();
  void end_answer();
  void tell_drained();
  void fail_later(int error);
  void on_wake();

  Http2Connection& connection_;
  const Transport& carrier_;
  Readers& readers_;
  Beside& beside_;
  Owner& owner_;
  Http2StreamId id_ = 0;  // 0: the request's head has not been sent
  Readers::Ptr request_;  // what the exchange sends
  Http2Outbox outbox_;
  std::string text_;  // scratch, of what the exchange is given
  Event wake_;
  std::size_t unconsumed_ = 0;      // octets of the body that the exchange has not used
  std::uint64_t body_left_ = 0;     // octets, of an answer whose length is said
  std::optional<char> last_octet_;  // of that body, until it is known whether trailers follow
  Milliseconds last_active_, last_sent_;
  Method method_ = Method::get;
  int failure_ = 0;            // errno, to be told
  bool has_head_ = false;      // of the request
  bool is_chunked_ = false;    // as the answer is framed
  bool end_is_given_ = false;  // nghttp2 has END_STREAM to send
  bool is_drained_ = false;    // the handler is to be told
  bool is_detached_ = false;   // it is no stream of the connection any more
};

}  // namespace bloomwall::proxy
