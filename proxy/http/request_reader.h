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
// Refused (status): anything but CRLF line ends, control octets, folded lines, space before a colon, names that are no
// tokens, several or malformed Host, no Host in 1.1, malformed Content-Length or more than one, Transfer-Encoding with
// Content-Length or in HTTP/1.0, chunked that is not the only coding (400); other codings (501); versions other than
// 1.x (505); targets with octets that no URL has (400); over limits (431, 414; trailers and chunk lines 400). Views in
// head() and trailers() live until next(). Allocates only while its buffers grow to their working size. Grammar by
// llhttp (fields, chunks), request line and the checks above by us; both must agree on framing.
// Errors are final: after one, feed() gives the same error again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include <tl/expected.hpp>

#include "proxy/http/http_error.h"
#include "proxy/http/message_reader.h"
#include "proxy/http/request.h"

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

  bool at_start() const;  // nothing of a message read yet (empty lines do not count): closing now cuts nothing off
  bool at_end() const;    // `end` was reported
  std::uint64_t body_left() const;  // framing length only: octets of the body still to come

  void next();                 // forget this message, be ready for the next one; only at_end()
  std::size_t memory() const;  // bytes held for head and trailers, also between messages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bloomwall::proxy
