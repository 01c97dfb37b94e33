// Reads the questions of an ICAP client one after the other: the head, the head of the HTTP request in it, and the
// body, chunked, or the preview of it.
//
//   feed()...  question  body*  end  next()
//
// Refused beside what icap_head.h says: line ends other than CRLF, folded lines, a section that does not end with its
// empty line, a body longer than its preview, trailer fields. A fault is final, as it is not known where the next
// question begins. What is behind a preview is never asked for: after `end` the next octets are the next question.
// Views are into the reader's buffers and live until next().
// Bounds: kMostIcapHead for the head, kMostEncapsulatedHead for that of HTTP, HeadLimits for chunks.
// No sockets, no clock. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proxy/answers/icap_head.h"
#include "proxy/http/body_reader.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostIcapHead = std::size_t{16} << 10;

class IcapReader {
 public:
  enum class Event : std::uint8_t {
    need_more,  // everything given was consumed
    question,   // head() and http_head() are complete; feed() again, also without octets
    body,       // `body` holds octets of it, chunked coding removed
    end,        // of the question, or of its preview; call next() before the next feed()
    error,      // error() says why; final
  };
  struct Step {
    Event event = Event::need_more;
    std::size_t consumed = 0;
    std::span<const char> body = {};  // inside the bytes given
  };

  IcapReader() { next(); }

  Step feed(std::span<const char> bytes);
  const IcapHead& head() const { return head_; }               // from the question on
  std::string_view http_head() const { return http_.text(); }  // likewise, with its empty line; empty: OPTIONS
  const IcapError& error() const { return error_; }
  void next();
  bool at_start() const { return state_ == State::head && text_.untouched(); }
  std::size_t memory() const { return text_.memory() + http_.memory() + body_.memory(); }

 private:
  enum class State : std::uint8_t { head, http_head, body, end, error };
  std::size_t take_head(std::span<const char> bytes);
  std::size_t take_http_head(std::span<const char> bytes);
  Step take_body(std::span<const char> bytes);
  Step fail(std::size_t used, IcapError error);

  State state_ = State::head;
  IcapHead head_;
  IcapError error_;
  HeadBuffer text_, http_;
  BodyReader body_;
  std::uint64_t body_octets_ = 0;
};

}  // namespace bloomwall::proxy
