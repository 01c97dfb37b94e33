// What readers of messages are made of: limits and the steps they report, heads (HeadBuffer), framing, bodies.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/http/chunk_decoder.h"
#include "proxy/http/fields.h"
#include "proxy/http/http_error.h"
#include "proxy/http/request.h"

namespace bloomwall::proxy {

struct HeadLimits {
  std::size_t head_bytes = 65'536;      // start line and fields; more: 431 (414 where the request line alone is longer)
  std::size_t fields = 256;             // more: 431
  std::size_t chunk_line_bytes = 4096;  // one chunk-size line with its extensions
  std::uint64_t extension_bytes = 65'536;  // by which all chunk extensions of a message may outweigh its body
  std::size_t trailer_bytes = 16'384;      // whole trailer section of a request; of an answer head_bytes
  std::size_t trailer_fields = 64;         // of an answer with more, none is forwarded
  unsigned empty_lines = 8;                // before a request line
  unsigned interim_responses = 100;        // 1xx before the final response
};

enum class ReadEvent : std::uint8_t {
  need_more,  // everything given was consumed; nothing else to say
  interim,    // responses: a 1xx head; head() holds it until the next feed()
  head,       // head() is complete
  body,       // `body` holds the next octets of the body, chunked coding removed
  end,        // the message is over, trailers() is complete; stays so until next() is called
};

struct ReadStep {
  ReadEvent event = ReadEvent::need_more;
  std::size_t consumed = 0;         // of the bytes given; the rest must be given again
  std::span<const char> body = {};  // inside the bytes given: relay or copy before they go away
};

// Collects a head (or a trailer section) line by line until its empty line, in one contiguous buffer that views point
// to. Checked here, because the parsers above it rely on it: line ends are CRLF (with `take_bare_lf` also LF), no CR
// stands alone, no line is folded (with `take_folds` folds are only noted), the section stays within its size. With
// `take_odd_lines` a CR that stands alone and a fold are only noted, wherever they are: for what will not be read.
// Every octet is copied and examined once, however the input is cut.
enum class HeadState : std::uint8_t {
  need_more,
  complete,
  too_large,
  first_line_too_large,
  empty_start,
  bare_cr,
  bare_lf,
  folded
};

class HeadBuffer {
 public:
  struct Rules {
    std::size_t limit = 0;       // bytes, the empty line included
    bool has_start_line = true;  // the first line is none of the fields
    unsigned empty_lines = 0;    // dropped before the start line; one more is empty_start
    bool take_bare_lf = false;
    bool take_folds = false;
    bool take_odd_lines = false;
  };

  void begin(const Rules& rules);  // empties it
  // Takes bytes up to the end of the section; `consumed` tells how many. States other than need_more are final.
  HeadState feed(std::span<const char> bytes, std::size_t& consumed);

  std::string_view text() const { return text_; }      // all octets so far
  std::string& mutable_text() { return text_; }        // for repairs of a complete section
  std::size_t lines() const { return lines_; }         // complete ones, the empty line not counted
  bool needs_repair() const { return needs_repair_; }  // a bare LF or a fold was taken
  bool has_odd_lines() const { return has_odd_lines_; }
  bool has_dropped() const { return dropped_ > 0; }  // empty lines before the start line
  bool untouched() const { return text_.empty() && !has_dropped(); }
  std::size_t memory() const { return text_.capacity(); }  // bytes

 private:
  HeadState end_of_line();
  HeadState empty_line();

  Rules rules_;
  std::string text_;
  std::size_t line_begin_ = 0;
  std::size_t lines_ = 0;
  unsigned dropped_ = 0;
  bool needs_repair_ = false;
  bool has_odd_lines_ = false;
  HeadState state_ = HeadState::need_more;
};

// The body of one message after its head: counted, chunked with trailers, or until the sender closes.
// Requests and responses differ only in the name of an error.
class BodyReader {
 public:
  struct Rules {
    BodyFraming framing = BodyFraming::none;
    std::uint64_t length = 0;
    bool tolerant = false;                     // see ChunkDecoder, and of trailers trailers()
    ErrorKind error = ErrorKind::bad_request;  // of everything malformed
  };
  void begin(const Rules& rules);
  // Events body, end (repeated) and need_more.
  tl::expected<ReadStep, HttpError> feed(std::span<const char> bytes, const HeadLimits& limits);

  bool done() const { return state_ == State::done; }
  void finish_until_close() { state_ = State::done; }
  std::uint64_t left() const { return left_; }  // octets, where they are counted
  // Tolerant: what another reader might take for the end of the message elsewhere.
  bool was_doubtful() const { return chunks_.took_bare_lf() || trailer_section_.needs_repair() || dropped_trailers_; }
  // Tolerant: lines that end by LF alone are repaired; a section with any line that is no field is dropped, all of it.
  // The body is whole without it, and what is not forwarded cannot be read in two ways.
  std::span<const Field> trailers() const { return trailers_; }
  std::size_t memory() const { return trailer_section_.memory(); }

 private:
  enum class State : std::uint8_t { counted, until_close, chunks, trailers, done };
  ReadStep feed_counted(std::span<const char> bytes);
  tl::expected<ReadStep, HttpError> feed_chunks(std::span<const char> bytes, const HeadLimits& limits);
  tl::expected<ReadStep, HttpError> feed_trailers(std::span<const char> bytes, const HeadLimits& limits);

  Rules rules_;
  State state_ = State::done;
  std::uint64_t left_ = 0;
  ChunkDecoder chunks_;
  HeadBuffer trailer_section_;
  std::vector<Field> trailers_;
  bool dropped_trailers_ = false;
};

// How long a message body is: Content-Length and Transfer-Encoding, read once, strictly.
// Source: RFC 9112 section 6.3; numbers are those rules.
struct Framing {
  BodyFraming kind = BodyFraming::none;
  std::uint64_t length = 0;
  bool has_length = false;  // Content-Length was given, also 0
};

// Digits alone, at most 2^63-1.
std::optional<std::uint64_t> parse_length(std::string_view text);

// Requests: one Content-Length of digits alone; Transfer-Encoding is exactly "chunked", once, never in HTTP/1.0, never
// beside Content-Length. Codings we do not know: not_implemented; everything else wrong: bad_request.
tl::expected<Framing, HttpError> request_framing(std::span<const Field> fields, Version version);

// Responses, as the fields say it (whether there is a body at all depends on request and status). Content-Length lines
// and list elements must all be the same number. Transfer-Encoding must be chunked alone; beside it Content-Length does
// not count. Neither: until_close.
tl::expected<Framing, HttpError> response_framing(std::span<const Field> fields);

}  // namespace bloomwall::proxy
