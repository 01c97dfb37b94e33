// One HTTP/2 connection without its socket, either end of it: octets in, events of streams out, and the other way
// round. No I/O and no clock; frames, HPACK and flow control are nghttp2's, which only this folder includes.
//
//   feed(what has come); write() until it gives nothing, whenever on_output() has asked for it; is_over(): close
//
// A Stream is attached to its number until it is detached, or its on_closed() was called. What it was given by
// on_data() counts against its window until consume() says that it is gone; a window grows as its reader takes what
// comes, while there is memory. As long as there is, the connection's window is kept open: who reads slowly stops
// nobody else. What it sends is asked for by supply(), frame by frame, once the peer's windows have room; after a
// supply() that gave nothing only resume() makes it be asked again. Calls in events are allowed, but for feed() and
// write().
//
// Bounds: `Limits`, and FrameBudget; both end the connection with GOAWAY. Of a stream, what its window lets in: who has
// no memory for all of them does not feed(). A peer that does not take what is written: has_much_to_write() says not to
// feed more. nghttp2's memory is counted by Memory, and never refused, since nghttp2 1.52 does not survive that
// everywhere; the connection ends where it is spent.
// Not spoken: server push, extended CONNECT (a request with it is malformed), ALTSVC and ORIGIN frames (ignored), the
// priorities of RFC 7540 (refused by SETTINGS) and PRIORITY_UPDATE frames (ignored): the field `priority` is obeyed.
// Source: RFC 9113, RFC 9218. Thread: one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "proxy/http2/frame_budget.h"
#include "proxy/http2/http2_fields.h"

struct nghttp2_session;

namespace bloomwall::proxy {

using Http2StreamId = std::int32_t;

// Error codes, RFC 9113 section 7: those that are sent, or looked for. Others come as they are.
enum class Http2Code : std::uint32_t {
  no_error = 0,
  protocol_error = 1,
  internal_error = 2,
  refused_stream = 7,  // nothing of the request was processed: it may be sent again
  cancel = 8,
  enhance_your_calm = 11,
  http_1_1_required = 13,
};

class Http2Connection {
 public:
  enum class Role : std::uint8_t { server, client };
  struct Limits {
    std::uint32_t streams = 100;  // server: that the client may have open
    Http2FieldList::Limits head;
    // Octets of a body on their way here. Each stream has a window of its own, as it begins and at most.
    std::uint32_t stream_window = 64U << 10U, most_window = 1U << 20U;
    std::uint32_t window = 16U << 20U;  // of the connection: octets that were not fed yet, and may stand before others
  };
  class Memory {
   public:
    virtual void take(std::size_t bytes) = 0;
    virtual void give(std::size_t bytes) = 0;
    virtual bool is_spent() const = 0;                   // more was taken than there is
    virtual bool has_room(std::size_t bytes) const = 0;  // for as many more, and for others
    virtual bool may_open() const = 0;                   // the connection's window

   protected:
    ~Memory() = default;
  };
  class Stream {
   public:
    virtual void on_head(const Http2FieldList& list, bool is_end) = 0;  // client: of an answer, interim ones too
    virtual void on_data(std::span<const char> octets) = 0;
    virtual void on_trailers(const Http2FieldList& list) = 0;  // on_end() follows
    virtual void on_end() = 0;                                 // not after a head that was the end
    // The last call. `is_at_fault`: the peer has broken a rule, in it or of the connection, and was cut here for that.
    virtual void on_closed(Http2Code code, bool is_at_fault) = 0;
    struct Supply {
      std::size_t octets = 0;
      bool is_end = false;  // trailers() follow, where there are any
    };
    virtual Supply supply(std::span<char> room) = 0;
    virtual void list_trailers(std::vector<Http2Field>& out) = 0;

   protected:
    ~Stream() = default;
  };
  class Handler {
   public:
    // Server: a head is complete. Attaches a stream, or the request is refused.
    virtual void on_request(Http2StreamId id, const Http2FieldList& list, bool is_end) = 0;
    virtual void on_goaway(Http2Code why) = 0;  // the peer has sent GOAWAY
    virtual void on_output() = 0;               // there may be something to write

   protected:
    ~Handler() = default;
  };

  // All must outlive the connection.
  Http2Connection(Role role, const Limits& limits, Handler& handler, Memory& memory);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  void feed(std::span<const char> bytes, std::chrono::milliseconds now);
  void write(std::string& out, std::size_t enough);  // appends frames until there are none, or so many octets
  bool has_much_to_write() const;
  bool is_over() const;                     // nothing more is read or written
  const char* why() const { return why_; }  // it ended before its time: a literal; nullptr: it did not
  FrameBudget::Verdict flood() const { return flood_; }
  // A header section has begun to come: nothing else can until it has ended, so it must end in time.
  bool is_in_head() const { return budget_.is_in_head(); }
  void end_slow_head();  // it did not: the end, as of a flood
  // For want of memory the connection's window is not open: to be asked to open it from time to time.
  bool owes_window() const { return owed_ > 0; }
  void pay_window();

  // Server: `list` as of list_answer().
  void submit_interim(Http2StreamId id, std::span<const Http2Field> list);
  void submit_answer(Http2StreamId id, std::span<const Http2Field> list, bool has_body);
  // Client: the new stream's number; 0: there are no more.
  Http2StreamId submit_request(std::span<const Http2Field> list, bool has_body, Stream& stream);
  void attach(Http2StreamId id, Stream& stream);
  void detach(Http2StreamId id);
  void resume(Http2StreamId id);
  void consume(Http2StreamId id, std::size_t octets);
  void reset(Http2StreamId id, Http2Code code);  // and detaches
  // Detaches from a stream that the peer is about to end, if it has not; of those that stay, the oldest are reset.
  void release(Http2StreamId id);
  // Server: once the answer is sent, what is left of the request is not wanted.
  void reset_after_answer(Http2StreamId id);

  void announce_end();  // no new streams, please
  void finish();        // no more streams: GOAWAY behind all that was said, and the end behind the last stream
  void count_fault() { note_flood(budget_.on_reset(now_)); }  // server: the peer has spoilt a stream
  void close_streams();                                       // tells each that it is closed
  std::size_t streams() const { return streams_.size(); }
  bool is_ending() const { return is_ending_; }  // GOAWAY was sent or has come

 private:
  struct Callbacks;
  struct Session {
    void operator()(nghttp2_session* session) const noexcept;
  };
  struct Entry {
    Stream* stream = nullptr;
    std::uint32_t window = 0;    // octets
    std::size_t unconsumed = 0;  // octets
    std::size_t taken = 0;       // octets, since the window has grown
    bool resets_after_end = false;
  };
  void open();
  void fail(const char* why);
  bool is_ended_by_peer(Http2StreamId id) const;
  void note_flood(FrameBudget::Verdict verdict);
  void end_if_due();
  Stream* find(Http2StreamId id) const;
  void on_fields(Http2StreamId id, bool is_request, bool is_end);
  void on_stream_end(Http2StreamId id);
  void reset_rest(Http2StreamId id);
  void submit_reset(Http2StreamId id, std::uint32_t code);
  void grow(Http2StreamId id, Entry& entry, std::size_t taken);
  void forget(Http2StreamId id);
  void count_list();
  void on_stream_closed(Http2StreamId id, std::uint32_t code);

  const Role role_;
  Handler& handler_;
  Memory& memory_;
  FrameBudget budget_;
  const Limits limits_;
  std::unique_ptr<nghttp2_session, Session> session_;
  Http2FieldList list_;               // of the header section that is being read
  std::size_t list_counted_ = 0;      // of its memory
  std::vector<Http2Field> trailers_;  // scratch
  std::unordered_map<Http2StreamId, Entry> streams_;
  std::unordered_set<Http2StreamId> own_resets_;  // server: that are on the way out
  Http2StreamId reset_here_ = 0;                  // the last whose reset has gone out
  std::size_t grown_ = 0;                         // octets, of all windows of streams
  std::size_t owed_ = 0;                          // octets, of the connection's window
  std::deque<Http2StreamId> released_;            // that the peer had not ended by then
  std::chrono::milliseconds now_{0};              // of the last feed()
  const char* why_ = nullptr;
  bool is_peer_at_fault_ = false;  // it has broken a rule, and the whole connection ended here for that
  FrameBudget::Verdict flood_ = FrameBudget::Verdict::fine;
  bool has_failed_ = false;  // the session is of no use any more
  bool is_ending_ = false;
  bool is_terminated_ = false;
};

}  // namespace bloomwall::proxy
