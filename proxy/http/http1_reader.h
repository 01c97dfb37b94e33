// Reads HTTP/1 requests from a client: bytes in, head / body / end out. No I/O, no clock; one per client connection.
//
//   for (;;) {
//     auto step = reader.feed(bytes);            // also with no bytes: what is known already is reported
//     if (!step) -> answer step.error(), close
//     bytes = bytes.subspan(step->consumed);
//     switch (step->event) {
//       need_more: read more; head: judge; body: relay step->body; end: wait for the answer, next()
//     }
//   }
//
// Result and errors do not depend on how the bytes were cut. After `end` nothing is consumed until next(): the rest is
// the next pipelined request, or, after CONNECT or a 101, no HTTP at all. CONNECT has no body here: end follows head.
//
// Repaired: control octets but NUL are blanks in values that say nothing of the connection, the host or the framing.
// Refused (status): anything but CRLF line ends, other control octets, folded lines, space before a colon, names that
// are no tokens, several or malformed Host, no Host in 1.1, malformed Content-Length or more than one,
// Transfer-Encoding with Content-Length or in HTTP/1.0, chunked that is not the only coding (400); other codings (501);
// versions other than 1.x (505); targets with octets that no URL has (400); over limits (431, 414; trailers and chunk
// lines 400). Views in head() and trailers() live until next(). Allocates only while its buffers grow to their working
// size. Grammar by llhttp (fields, chunks), request line and the checks above by us; both must agree on framing.
// Errors are final: after one, feed() gives the same error again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <tl/expected.hpp>

#include "proxy/http/body_reader.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"
#include "proxy/http/response.h"

namespace bloomwall::proxy {

class RequestReader {
 public:
  explicit RequestReader(const HeadLimits& limits);  // `limits` must outlive the reader
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;

  tl::expected<ReadStep, HttpError> feed(std::span<const char> bytes);
  const RequestHead& head() const;          // from `head` on
  std::span<const Field> trailers() const;  // from `end` on; empty without

  bool asks_by_head() const;  // the request line begins with "HEAD ", whatever else is wrong with it
  bool at_start() const;      // nothing of a message read yet (empty lines do not count): closing now cuts nothing off
  bool at_end() const;        // `end` was reported
  std::uint64_t body_left() const;  // framing length only: octets of the body still to come

  void next();                 // forget this message, be ready for the next one; only at_end()
  std::size_t memory() const;  // bytes held for head and trailers, also between messages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads one response at a time from an origin or parent proxy. Loop and guarantees as of requests.
//
//   reader.start({method, upgrade_forwarded});  feed()...  interim* head body* end
//
// Repaired: folded lines become one line joined by SP, space before a colon is dropped, lines ended by LF alone are
// taken (nothing of that reaches a client: heads and chunks are rewritten), equal Content-Lengths are one,
// Content-Length beside chunked does not count, and what else repair_response_head() and ChunkDecoder say; trailers
// of which one is no field are dropped. The connection is not reused where a body was framed in such a way, nor after
// empty lines before the status line.
// Refused as upstream_protocol (502): HTTP/0.9 and other garbage, a CR within a line, control octets, malformed or
// contradicting Content-Length, a Transfer-Encoding other than chunked alone, an unrequested 101, too many 1xx. Over
// limits: upstream_head_too_large. A body cut short is response_incomplete, never an end.
struct ResponseTo {
  Method method = Method::get;     // HEAD has no body; 2xx to CONNECT has none either (a parent proxy's answer)
  bool upgrade_forwarded = false;  // the request carried Upgrade, so 101 may come
};

class ResponseReader {
 public:
  explicit ResponseReader(const HeadLimits& limits);  // must outlive the reader
  ~ResponseReader();
  ResponseReader(ResponseReader&&) noexcept;
  ResponseReader& operator=(ResponseReader&&) noexcept;

  void start(const ResponseTo& to);  // before the first octet of each response
  tl::expected<ReadStep, HttpError> feed(std::span<const char> bytes);
  // The origin closed its side: `end` where the body lasted until then, else connection_terminated (nothing of the head
  // came, or not all) or response_incomplete (body cut). After `end` it stays `end`.
  tl::expected<ReadStep, HttpError> finish();

  const ResponseHead& head() const;         // interim: valid until the next feed() with bytes; head: until start()
  std::span<const Field> trailers() const;  // from `end` on

  bool at_end() const;
  bool switched() const;   // status 101, or 2xx to CONNECT: `end` was reported and what follows is no HTTP
  bool untouched() const;  // not one octet has come since start(): a request on a pooled connection may be tried again
  // True at the exact end of a response whose connection may carry another one. Octets beyond the end forbid it too:
  // the caller sees them, because feed() does not consume them.
  bool reusable() const;
  // Whether servers are known to send surplus octets after such a response: one without a body by its method or status
  // (HEAD, 204, 304), one that followed an interim response, and one whose head was repaired.
  bool may_be_followed() const;
  std::size_t memory() const;  // bytes held for head and trailers, also between messages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bloomwall::proxy
